#include "models/merge.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "config/base/nascent_directory.hpp"
#include "config/base/require.hpp"
#include "models/architecture/modules.hpp"
#include "models/checkpoint/companions.hpp"
#include "models/checkpoint/finite.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "models/weights.hpp"

namespace rldp::models {

namespace {

namespace fs = std::filesystem;

/// Pairs of an adapter by the weight that they change.
struct change {
    std::size_t pair;
    linear_module module;
};
using changes = std::map<std::string, std::vector<change>>;

changes list_changes(const model_config& model, const lora_layout& layout) {
    std::map<std::string, linear_module> modules;
    for (std::int64_t layer = 0; layer < model.layers; ++layer)
        for (auto& module : block_modules(model, layer)) modules.emplace(module.name, module);
    changes out;
    for (std::size_t i = 0; i < layout.pairs.size(); ++i) {
        const auto found = modules.find(layout.pairs[i].module);
        require(found != modules.end(), "no module " + layout.pairs[i].module);
        const auto& owner = found->second.inside.empty() ? found->second.name : found->second.inside;
        out[owner + ".weight"].push_back({i, found->second});
    }
    return out;
}

/// W + (alpha/r)·B A, rounded once, some rows at a time: no float32 copy of the whole is made.
at::Tensor changed(const at::Tensor& weight, const std::vector<change>& by, const loaded_adapter& adapter,
                   bool conv1d) {
    constexpr std::int64_t numbers_at_once = 1 << 20;
    const auto& layout = adapter.layout;
    const auto rows = weight.size(0), step = std::max<std::int64_t>(1, numbers_at_once / weight.size(1));
    auto out = at::empty(weight.sizes(), weight.options());
    for (std::int64_t begin = 0; begin < rows; begin += step) {
        const auto count = std::min(step, rows - begin);
        auto block = weight.narrow(0, begin, count).to(at::kFloat, false, true);
        for (const auto& [pair, module] : by) {
            const auto a = layout.a(adapter.flat, pair), b = layout.b(adapter.flat, pair);
            if (conv1d) {  // [in, out]
                const auto delta = at::mm(a.narrow(1, begin, count).t(), b.t());
                block.narrow(1, module.first_row, module.d_out).add_(delta, layout.scaling());
                continue;
            }
            const auto from = std::max(begin, module.first_row);
            const auto to = std::min(begin + count, module.first_row + module.d_out);
            if (from >= to) continue;
            block.narrow(0, from - begin, to - from)
                .add_(at::mm(b.narrow(0, from - module.first_row, to - from), a), layout.scaling());
        }
        out.narrow(0, begin, count).copy_(block);
    }
    if (!all_finite(out))
        refuse(fmt::format("{}: with the adapter its weight is not finite in the base's type; train the adapter anew",
                           by.front().module.name));
    return out;
}

bool is_conv1d(const model_config& model) {
    return model.model_type == "gpt2";
}

/// An index of shards as Hugging Face writes it.
void write_index(const fs::path& path, const std::map<std::string, std::vector<std::string>>& names_by_file,
                 std::size_t bytes) {
    nlohmann::ordered_json index{{"metadata", {{"total_size", bytes}}},
                                 {"weight_map", nlohmann::ordered_json::object()}};
    for (const auto& [file, names] : names_by_file)
        for (const auto& name : names) index["weight_map"][name] = file;
    write_file(path, index.dump(2) + "\n");
}

}  // namespace

std::map<std::string, at::Tensor> merged_weights(const model_config& model, std::map<std::string, at::Tensor> weights,
                                                 const loaded_adapter& adapter) {
    for (const auto& [name, by] : list_changes(model, adapter.layout)) {
        auto& weight = weights.at(name);
        weight = changed(weight, by, adapter, is_conv1d(model));
    }
    return weights;
}

void merge(const fs::path& base, const fs::path& adapter, const fs::path& out) {
    if (fs::exists(fs::symlink_status(out))) refuse(out.string() + ": exists already; choose another directory");
    const auto model = read_model(base);
    weight_files files(base, model);
    const auto loaded = load_adapter(adapter, model, base);
    const auto by_name = list_changes(model, loaded.layout);
    staged_directory directory(out);
    copy_companions(base, directory.path(), model.head_beside_config);
    const auto names_by_file = files.names_by_file();
    std::size_t bytes = 0;
    for (const auto& [file, names] : names_by_file) {
        std::map<std::string, tensor_form> forms;
        for (const auto& name : names) {
            const auto stored = files.stored(name);
            forms.emplace(name, tensor_form{stored.scalar_type(), stored.sizes().vec()});
            bytes += stored.nbytes();
        }
        std::optional<std::string> written;
        const auto load_tensor = [&](const std::string& name) {
            if (written) files.forget(*written);
            written = name;
            const auto weight = files.tensor(name, std::nullopt);
            const auto by = by_name.find(name);
            return by == by_name.end() ? weight : changed(weight, by->second, loaded, is_conv1d(model));
        };
        save_safetensors(directory.path() / file, forms, load_tensor, {{"format", "pt"}});
    }
    if (names_by_file.size() > 1 || !names_by_file.contains("model.safetensors"))
        write_index(directory.path() / "model.safetensors.index.json", names_by_file, bytes);
    directory.settle();
}

}  // namespace rldp::models

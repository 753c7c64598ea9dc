#include <ATen/ATen.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

#include "base/directories.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "models/architecture/family.hpp"
#include "models/checkpoint/companions.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "models/full_checkpoint.hpp"
#include "models/weight_files.hpp"
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

namespace {

/// What config.json of a merged model says otherwise than the base's.
nlohmann::ordered_json list_changed_keys(const model_config& model, std::optional<at::ScalarType> dtype) {
    nlohmann::ordered_json out;
    if (model.head_beside_config) out["tie_word_embeddings"] = false;
    if (!dtype) return out;
    out["dtype"] = nullptr;  // as transformers 5 has it beside, or in the place of, the other
    out["torch_dtype"] = *dtype == at::kBFloat16 ? "bfloat16" : "float32";
    out["quantization_config"] = nullptr;
    return out;
}

}  // namespace

void merge(const fs::path& base, const fs::path& adapter, const fs::path& out, std::optional<at::ScalarType> dtype) {
    if (fs::exists(fs::symlink_status(out))) refuse(out.string() + ": exists already; choose another directory");
    const auto model = read_model(base);
    if (model.in_blocks.numbers > 0 && !dtype)
        refuse(fmt::format(
            "{}: is quantized ({}), and what is merged would not fit its blocks; give --dtype bfloat16, which "
            "writes {} MiB where it has {}, or keep base and adapter apart",
            base.string(), model.in_blocks.type, model.in_blocks.numbers * 2 >> 20, model.in_blocks.bytes >> 20));
    weight_files files(base, model);
    const auto loaded = load_adapter(adapter, model, base);
    const auto by_name = list_changes(model, loaded.layout);
    staged_directory directory(out);
    copy_companions(base, directory.path(), list_changed_keys(model, dtype));
    const auto names_by_file = files.names_by_file();
    std::map<std::string, std::vector<std::int64_t>> shapes;
    for (const auto& [name, shape] : base_tensors(model)) shapes[name] = shape;
    std::size_t bytes = 0;
    for (const auto& [file, names] : names_by_file) {
        std::map<std::string, tensor_form> forms;
        for (const auto& name : names) {
            const auto type = dtype ? *dtype : files.stored(name).scalar_type();
            forms.emplace(name, tensor_form{type, shapes.at(name)});
            bytes += static_cast<std::size_t>(c10::multiply_integers(shapes.at(name))) * c10::elementSize(type);
        }
        std::optional<std::string> written;
        const auto load_tensor = [&](const std::string& name) {
            if (written) files.forget(*written);
            written = name;
            const auto exact = dtype ? std::optional(at::kFloat) : std::nullopt;  // rounded once, at the end
            auto weight = files.find_blocks(name) ? files.dequantized(name) : files.tensor(name, exact);
            const auto by = by_name.find(name);
            if (by != by_name.end()) weight = changed(weight, by->second, loaded, is_conv1d(model));
            return weight.to(forms.at(name).dtype);
        };
        save_safetensors(directory.path() / file, forms, load_tensor, {{"format", "pt"}});
    }
    if (names_by_file.size() > 1 || !names_by_file.contains("model.safetensors"))
        write_index(directory.path() / "model.safetensors.index.json", names_by_file, bytes);
    directory.settle();
}

namespace {

constexpr auto weights_name = "model.safetensors";

}  // namespace

void save_full_model(const fs::path& base, const lora_layout& layout, const at::Tensor& flat, const fs::path& out) {
    const auto model = read_model(base);
    weight_files files(base, model);
    std::map<std::string, const trained_tensor*> trained;
    for (const auto& tensor : layout.tensors) trained[tensor.name] = &tensor;
    std::map<std::string, tensor_form> forms;
    for (const auto& [name, shape] : base_tensors(model))
        forms.emplace(name, tensor_form{trained.contains(name) ? at::kFloat : files.stored(name).scalar_type(), shape});
    const auto load_tensor = [&](const std::string& name) {
        const auto found = trained.find(name);
        if (found != trained.end()) return view_part(flat, *found->second);
        files.forget(name);  // what came before it is written
        return files.tensor(name, std::nullopt);
    };
    make_directory(out);
    copy_companions(base, out, list_changed_keys(model, std::nullopt));
    save_safetensors(out / weights_name, forms, load_tensor, {{"format", "pt"}});
}

at::Tensor load_trained_tensors(const fs::path& directory, const model_config& model, const lora_layout& layout) {
    weight_files files(directory, model);
    std::map<std::string, at::Tensor> weights;
    for (const auto& tensor : layout.tensors) weights[tensor.name] = files.tensor(tensor.name, at::kFloat);
    return flatten_tensors(layout.tensors, weights);
}

}  // namespace rldp::models

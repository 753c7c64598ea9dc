#include "models/merge.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "config/base/nascent_directory.hpp"
#include "config/base/require.hpp"
#include "models/architecture/modules.hpp"
#include "models/checkpoint/finite.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "models/weights.hpp"

namespace rldp::models {

namespace {

namespace fs = std::filesystem;

// What makes a directory of Hugging Face's usable beside the tensors; what is there of it is copied.
constexpr const char* companions[] = {"config.json",
                                      "generation_config.json",
                                      "tokenizer.json",
                                      "tokenizer_config.json",
                                      "special_tokens_map.json",
                                      "added_tokens.json",
                                      "vocab.json",
                                      "merges.txt",
                                      "tokenizer.model",
                                      "chat_template.jinja"};

linear_module module_named(const model_config& model, const std::string& name) {
    for (std::int64_t layer = 0; layer < model.layers; ++layer)
        for (auto& module : block_modules(model, layer))
            if (module.name == name) return module;
    bug("no module " + name);
}

}  // namespace

std::map<std::string, at::Tensor> merged_weights(const model_config& model, std::map<std::string, at::Tensor> weights,
                                                 const loaded_adapter& adapter) {
    const auto& layout = adapter.layout;
    for (std::size_t i = 0; i < layout.pairs.size(); ++i) {
        const auto module = module_named(model, layout.pairs[i].module);
        auto& weight = weights.at((module.inside.empty() ? module.name : module.inside) + ".weight");
        const auto delta = at::mm(layout.b(adapter.flat, i), layout.a(adapter.flat, i)).mul_(layout.scaling());
        auto sum = weight.to(at::kFloat, false, true);   // the base lies in a file that is mapped read-only
        const bool conv1d = model.model_type == "gpt2";  // [in, out]
        sum.narrow(conv1d ? 1 : 0, module.first_row, module.d_out).add_(conv1d ? delta.t() : delta);
        weight = sum.to(weight.scalar_type());
        if (!all_finite(weight))
            refuse(
                fmt::format("{}: with the adapter its weight is not finite in the base's type; train the adapter anew",
                            module.name));
    }
    return weights;
}

void merge(const fs::path& base, const fs::path& adapter, const fs::path& out) {
    if (fs::exists(fs::symlink_status(out))) refuse(out.string() + ": exists already; choose another directory");
    const auto model = read_model_config(base);
    const auto weights =
        merged_weights(model, load_weights(base, model, std::nullopt, at::kCPU), load_adapter(adapter, model));
    nascent_directory directory(out);
    for (const auto* name : companions)
        if (fs::exists(base / name)) write_file(directory.path() / name, read_file(base / name));
    save_safetensors(directory.path() / "model.safetensors", weights, {{"format", "pt"}});
    directory.settle();
}

}  // namespace rldp::models

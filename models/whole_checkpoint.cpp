#include "models/whole_checkpoint.hpp"

#include <ATen/ATen.h>

#include "config/base/directory.hpp"
#include "models/architecture/modules.hpp"
#include "models/checkpoint/companions.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "models/weights.hpp"

namespace rldp::models {

namespace {

namespace fs = std::filesystem;

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
    copy_companions(base, out, model.head_beside_config);
    save_safetensors(out / weights_name, forms, load_tensor, {{"format", "pt"}});
}

at::Tensor load_trained_tensors(const fs::path& directory, const model_config& model, const lora_layout& layout) {
    weight_files files(directory, model);
    std::map<std::string, at::Tensor> weights;
    for (const auto& tensor : layout.tensors) weights[tensor.name] = files.tensor(tensor.name, at::kFloat);
    return flatten_tensors(layout.tensors, weights);
}

}  // namespace rldp::models

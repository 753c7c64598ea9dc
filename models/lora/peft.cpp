// PEFT's directory format (huggingface/peft, `save_pretrained` of a LoraConfig).
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "config/base/json_reader.hpp"
#include "models/architecture/modules.hpp"
#include "models/checkpoint/finite.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "models/lora/fused.hpp"
#include "models/lora/layout.hpp"
#include "models/lora/subspace.hpp"

namespace rldp::models {

namespace {

constexpr auto config_name = "adapter_config.json";
constexpr auto tensors_name = "adapter_model.safetensors";

std::string key_a(const std::string& module) {
    return "base_model.model." + module + ".lora_A.weight";
}
std::string key_b(const std::string& module) {
    return "base_model.model." + module + ".lora_B.weight";
}

bool same_modules(const lora_layout& x, const lora_layout& y) {
    return std::equal(x.pairs.begin(), x.pairs.end(), y.pairs.begin(), y.pairs.end(),
                      [](const lora_pair& p, const lora_pair& q) { return p.module == q.module; });
}

// PEFT knows no roles: last names where they mean the same modules, else full names.
std::vector<std::string> peft_targets(const lora_layout& layout, const model_config& model) {
    std::set<std::string> last, full;
    for (const auto& pair : layout.pairs) {
        last.insert(last_name(pair.module));
        full.insert(pair.module);
    }
    lora_config config = layout.config;
    config.targets.assign(last.begin(), last.end());
    if (same_modules(make_layout(model, config), layout)) return config.targets;
    return {full.begin(), full.end()};
}

// GPT-2's own linear modules are Conv1D, [in, out]; its thirds of c_attn are ordinary ones.
bool adapts_conv1d(const lora_layout& layout, const model_config& model) {
    const auto is_conv1d = [](const lora_pair& pair) { return last_name(pair.module).starts_with("c_"); };
    return model.model_type == "gpt2" && std::any_of(layout.pairs.begin(), layout.pairs.end(), is_conv1d);
}

// Whether a value leaves an option off.
bool is_off(const nlohmann::json& value) {
    return value.is_null() || value == false || value == "none" || value == "" ||
           ((value.is_object() || value.is_array()) && value.empty());
}

// PEFT's options grow in number: whatever is unknown here must be off, or the adapter would mean something else.
void refuse_options(const nlohmann::json& config, const std::string& origin) {
    static const std::set<std::string> harmless{"auto_mapping",   "base_model_name_or_path", "fan_in_fan_out",
                                                "inference_mode", "init_lora_weights",       "lora_alpha",
                                                "lora_dropout",   "megatron_core",           "peft_type",
                                                "peft_version",   "qalora_group_size",       "r",
                                                "revision",       "target_modules",          "task_type"};
    for (const auto& [key, value] : config.items())
        if (!harmless.count(key) && !is_off(value))
            refuse(fmt::format("{}: option '{}' is not supported; only plain LoRA is", origin, key));
}

std::vector<std::string> listed_targets(const json_reader& json) {
    std::vector<std::string> targets;
    for (const auto& item : json.at("target_modules")) {
        if (!item.is_string()) refuse(json.origin() + ": key 'target_modules' must be strings");
        targets.push_back(item.get<std::string>());
    }
    return targets;
}

// The modules whose tensors lie in the file: what a pattern in target_modules came to.
std::vector<std::string> stored_modules(const safetensors_file& tensors) {
    std::vector<std::string> modules;
    const std::string prefix = key_a("").substr(0, key_a("").find(".lora_A")), suffix = ".lora_A.weight";
    for (const auto& name : tensors.names())
        if (name.starts_with(prefix) && name.ends_with(suffix) && name.size() > prefix.size() + suffix.size())
            modules.push_back(name.substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
    return modules;
}

lora_config read_config(const std::filesystem::path& path, const safetensors_file& tensors) {
    const nlohmann::json object = read_object(path);
    const json_reader json(object, path.string());
    if (json.text("peft_type") != "LORA")
        refuse(fmt::format("{}: peft_type is '{}'; supported: LORA", path.string(), json.text("peft_type")));
    if (json.text("task_type", "CAUSAL_LM") != "CAUSAL_LM")
        refuse(fmt::format("{}: task_type is '{}'; supported: CAUSAL_LM", path.string(), json.text("task_type")));
    refuse_options(object, path.string());
    lora_config config;
    config.rank = json.integer("r", 1, largest_rank);
    config.alpha = json.number("lora_alpha", 1e-9, 1e9);
    config.dropout = json.number("lora_dropout", 0, 0.999999, 0);
    const auto& targets = json.at("target_modules");
    if (targets.is_array())
        config.targets = listed_targets(json);
    else if (targets.is_string())
        config.targets = stored_modules(tensors);
    else
        refuse(path.string() + ": key 'target_modules' must be a list or a string");
    return config;
}

lora_layout checked_layout(const std::filesystem::path& path, const model_config& model, const lora_config& config) {
    try {
        return make_layout(model, config);
    } catch (const error& e) {
        refuse(fmt::format("{}: target_modules: {}", path.string(), e.what()));
    }
}

at::Tensor read_matrix(const safetensors_file& file, const std::filesystem::path& path, const std::string& key,
                       std::int64_t rows, std::int64_t columns) {
    if (!file.contains(key)) refuse(fmt::format("{}: tensor '{}' is missing", path.string(), key));
    const at::Tensor matrix = file.tensor(key);
    if (!matrix.is_floating_point()) refuse(fmt::format("{}: tensor '{}' is not of floats", path.string(), key));
    if (matrix.sizes() != at::IntArrayRef({rows, columns}))
        refuse(fmt::format("{}: tensor '{}' is not {} x {}", path.string(), key, rows, columns));
    if (!all_finite(matrix.to(at::kFloat)))
        refuse(fmt::format("{}: tensor '{}' holds numbers that are not finite in float32", path.string(), key));
    return matrix;
}

// The parts that the file's metadata finds in its whole modules.
loaded_adapter described(loaded_adapter whole, const safetensors_file& file, const std::filesystem::path& path,
                         const model_config& model) {
    try {
        return unfused(std::move(whole), file.metadata(), model);
    } catch (const error& e) {
        refuse(fmt::format("{}: __metadata__: {}", path.string(), e.what()));
    }
}

}  // namespace

void save_adapter(const std::filesystem::path& directory, const lora_layout& trained, const at::Tensor& flat,
                  const std::string& base_model, const model_config& model) {
    std::map<std::string, std::string> metadata{{"format", "pt"}};
    const auto parts = without_grounds(trained, flat.detach().cpu());
    const bool fuse = adapts_parts(parts.layout, model);
    if (fuse) metadata.merge(describe_parts(parts.layout));
    const auto [layout, numbers] = fuse ? fused(parts.layout, parts.flat, model) : parts;
    std::map<std::string, at::Tensor> tensors;
    for (std::size_t i = 0; i < layout.pairs.size(); ++i) {
        tensors[key_a(layout.pairs[i].module)] = layout.a(numbers, i);
        tensors[key_b(layout.pairs[i].module)] = layout.b(numbers, i);
    }
    const nlohmann::json config = {{"peft_type", "LORA"},
                                   {"task_type", "CAUSAL_LM"},
                                   {"r", layout.config.rank},
                                   {"lora_alpha", layout.config.alpha},
                                   {"lora_dropout", layout.config.dropout},
                                   {"target_modules", peft_targets(layout, model)},
                                   {"fan_in_fan_out", adapts_conv1d(layout, model)},
                                   {"bias", "none"},
                                   {"base_model_name_or_path", base_model},
                                   {"inference_mode", true},
                                   {"init_lora_weights", true}};
    make_directory(directory);
    save_safetensors(directory / tensors_name, tensors, metadata);
    write_file(directory / config_name, config.dump(2) + "\n");
}

loaded_adapter load_adapter(const std::filesystem::path& directory, const model_config& model) {
    const auto config_path = directory / config_name, path = directory / tensors_name;
    const safetensors_file file(path);
    lora_layout layout = checked_layout(config_path, model, read_config(config_path, file));
    std::vector<at::Tensor> parts;  // in the flat vector's order, views of the file until all are checked
    std::set<std::string> known;
    for (const auto& pair : layout.pairs) {
        parts.push_back(read_matrix(file, path, key_a(pair.module), layout.config.rank, pair.d_in));
        parts.push_back(read_matrix(file, path, key_b(pair.module), pair.d_out, layout.config.rank));
        known.insert({key_a(pair.module), key_b(pair.module)});
    }
    for (const auto& name : file.names())
        if (!known.count(name)) refuse(fmt::format("{}: tensor '{}' belongs to no target module", path.string(), name));
    for (auto& part : parts) part = part.flatten().to(at::kFloat);
    return described({std::move(layout), at::cat(parts)}, file, path, model);
}

}  // namespace rldp::models

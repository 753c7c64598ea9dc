// PEFT's directory format (huggingface/peft, `save_pretrained` of a LoraConfig).
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "models/architecture/family.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "models/lora/fused.hpp"
#include "models/lora/layout.hpp"
#include "models/lora/peft_modules.hpp"

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

// Options that change nothing in what the tensors mean. The configurations of initialisations outlive these: what
// PEFT converts to plain LoRA keeps them.
const std::set<std::string> harmless{
    "auto_mapping",   "base_model_name_or_path", "corda_config", "ensure_weight_tying", "eva_config",
    "fan_in_fan_out", "inference_mode",          "loftq_config", "lora_ga_config",      "megatron_core",
    "peft_version",   "qalora_group_size",       "revision"};
const std::set<std::string> honoured{"bias",       "exclude_modules",     "init_lora_weights", "layers_pattern",
                                     "lora_alpha", "layers_to_transform", "lora_dropout",      "peft_type",
                                     "r",          "target_modules",      "task_type"};

// Whether a value leaves an option off, as in Python.
bool is_off(const nlohmann::json& value) {
    if (value.is_string()) return value.get_ref<const std::string&>().empty();
    return value.is_null() || value == false || value == 0 ||
           ((value.is_object() || value.is_array()) && value.empty());
}

constexpr auto way_out = "merge it in PEFT (merge_and_unload) and take what that saves as the model";

// PEFT's options grow in number: whatever is unknown here must be off, or the adapter would mean something else.
void refuse_options(const nlohmann::json& config, const std::string& origin) {
    for (const auto& [key, value] : config.items())
        if (!harmless.contains(key) && !honoured.contains(key) && !is_off(value))
            refuse(fmt::format("{}: option '{}' is not supported, only plain LoRA is; {}", origin, key, way_out));
    if (const auto bias = config.find("bias"); bias != config.end() && *bias != "none" && !is_off(*bias))
        refuse(fmt::format("{}: option 'bias' is supported only as 'none'; {}", origin, way_out));
}

// Some initialisations take off the base's weights what the adapter begins with, and PEFT does so again where it loads
// one (LoRA-GA's: only before training). The list of the others is the whole list.
void refuse_initialisation(const nlohmann::json& config, const std::string& origin) {
    const auto found = config.find("init_lora_weights");
    if (found == config.end() || is_off(*found) || *found == true) return;
    const auto name = found->is_string() ? found->get<std::string>() : found->dump();
    const auto lower = lower_case(name);
    if (lower == "gaussian" || lower == "mica" || name == "eva" || name == "orthogonal") return;
    const auto is_of = [&](const char* kind) { return lower.starts_with(kind); };
    if (is_of("pissa") || is_of("olora") || is_of("corda") || is_of("lora_ga"))
        refuse(
            fmt::format("{}: init_lora_weights '{}' has PEFT change the base's weights, and the adapter fits those "
                        "only; save it with save_pretrained's path_initial_model_for_weight_conversion, or {}",
                        origin, name, way_out));
    if (is_of("loftq"))
        refuse(
            fmt::format("{}: init_lora_weights 'loftq' has PEFT quantize the base's weights, and the adapter fits "
                        "those only; {}",
                        origin, way_out));
    refuse(
        fmt::format("{}: init_lora_weights '{}' is not known; those that leave the base alone are true, false, "
                    "gaussian, eva, orthogonal, mica",
                    origin, name));
}

lora_config read_config(const std::filesystem::path& path, const model_config& model, const safetensors_file& tensors) {
    const nlohmann::json object = read_object(path);
    const json_reader json(object, path.string());
    if (json.text("peft_type") != "LORA")
        refuse(fmt::format("{}: peft_type is '{}'; supported: LORA", path.string(), json.text("peft_type")));
    if (json.text("task_type", "CAUSAL_LM") != "CAUSAL_LM")
        refuse(fmt::format("{}: task_type is '{}'; supported: CAUSAL_LM", path.string(), json.text("task_type")));
    refuse_options(object, path.string());
    refuse_initialisation(object, path.string());
    lora_config config;
    config.rank = json.integer("r", 1, largest_rank);
    config.alpha = json.number("lora_alpha", 1e-9, 1e9);
    config.dropout = json.number("lora_dropout", 0, 0.999999, 0);
    config.targets =
        peft_modules(json, model, [&](const std::string& module) { return tensors.contains(key_a(module)); });
    return config;
}

// As PEFT wrote adapters before safetensors.
void refuse_bin(const std::filesystem::path& directory) {
    const auto bin = directory / "adapter_model.bin", wanted = directory / tensors_name;
    if (std::filesystem::exists(wanted) || !std::filesystem::exists(bin)) return;
    refuse(
        fmt::format("{}: adapters are read as safetensors only; convert it: python3 -c \"import torch, "
                    "safetensors.torch as s; s.save_file(torch.load('{}', weights_only=True), '{}')\"",
                    bin.string(), bin.string(), wanted.string()));
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
    const loaded_adapter parts{trained, flat.detach().cpu()};
    const bool fuse = adapts_parts(parts.layout, model);
    if (fuse) metadata.merge(describe_parts(parts.layout));
    if (!model.in_blocks.type.empty()) metadata["base_quantization"] = model.in_blocks.type;
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

namespace {

/// A run's own directory is what people have at hand.
void refuse_run(const std::filesystem::path& directory) {
    if (std::filesystem::exists(directory / config_name)) return;
    for (const auto* below : {"public/adapter", "adapter"})
        if (const auto there = directory / below; std::filesystem::exists(there / config_name))
            refuse(fmt::format("{}: is a run; its adapter is {}", directory.string(), there.string()));
}

/// What an adapter says that it was made for; empty where it says nothing that can be read.
std::string read_base_name(const std::filesystem::path& directory) {
    const auto config = nlohmann::json::parse(read_file(directory / config_name), nullptr, false);
    const auto named =
        config.is_object() ? config.value("base_model_name_or_path", nlohmann::json()) : nlohmann::json();
    return named.is_string() ? named.get<std::string>() : std::string();
}

loaded_adapter load_from(const std::filesystem::path& directory, const model_config& model) {
    const auto config_path = directory / config_name, path = directory / tensors_name;
    refuse_bin(directory);
    const safetensors_file file(path);
    lora_layout layout = checked_layout(config_path, model, read_config(config_path, model, file));
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

}  // namespace

loaded_adapter load_adapter(const std::filesystem::path& directory, const model_config& model,
                            const std::filesystem::path& base) {
    refuse_run(directory);
    try {
        return load_from(directory, model);
    } catch (const error& why) {
        if (why.code() != errc::bad_input || base.empty() || !std::filesystem::exists(directory / config_name)) throw;
        const auto made_for = read_base_name(directory);
        const auto name = std::filesystem::path(made_for).filename();
        if (made_for.empty() || name == std::filesystem::path(model_name(base)).filename()) throw;
        refuse(fmt::format("{} (the adapter says that it is of {}, and was given with {})", why.what(), made_for,
                           base.string()));
    }
}

}  // namespace rldp::models

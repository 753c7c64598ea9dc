#include "models/architecture/model_config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/base/error.hpp"
#include "config/base/json_reader.hpp"
#include "config/base/limits.hpp"

namespace rldp::models {

namespace {

// Bounds of what is believed; larger numbers are damage, not models.
constexpr std::int64_t most_layers = 1024, most_heads = 4096, widest = 1 << 20, longest = limits::longest_window,
                       largest_vocabulary = 1 << 24;

std::vector<std::int64_t> token_list(const json_reader& json, const std::string& key) {
    if (!json.has(key)) return {};
    if (!json.at(key).is_array()) return {json.integer(key, -1, largest_vocabulary)};
    std::vector<std::int64_t> result;
    for (const auto& item : json.at(key)) {
        if (!item.is_number_unsigned() || item.get<std::uint64_t>() > std::uint64_t{largest_vocabulary})
            refuse(fmt::format("{}: key '{}' must be token ids", json.origin(), key));
        result.push_back(item.get<std::int64_t>());
    }
    return result;
}

std::optional<std::int64_t> first_token(const json_reader& json, const std::string& key) {
    const auto tokens = token_list(json, key);
    return tokens.empty() || tokens[0] < 0 ? std::nullopt : std::optional(tokens[0]);
}

std::string activation(const json_reader& json, const std::string& key, const std::string& missing,
                       std::initializer_list<std::string_view> supported) {
    const std::string name = json.text(key, missing);
    // gelu_pytorch_tanh is gelu_new under its later name.
    const std::string known = name == "gelu_pytorch_tanh" ? "gelu_new" : name == "swish" ? "silu" : name;
    if (std::find(supported.begin(), supported.end(), known) == supported.end())
        refuse(
            fmt::format("{}: key '{}' is '{}'; supported: {}", json.origin(), key, name, fmt::join(supported, ", ")));
    return known;
}

void refuse_option(const json_reader& json, const std::string& key, bool supported) {
    if (json.boolean(key, supported) != supported)
        refuse(fmt::format("{}: key '{}' is supported only as {}", json.origin(), key, supported));
}

void read_gpt2(const json_reader& json, model_config& c) {
    c.width = json.integer("n_embd", 1, widest);
    c.layers = json.integer("n_layer", 1, most_layers);
    c.heads = c.kv_heads = json.integer("n_head", 1, most_heads);
    if (c.width % c.heads != 0) refuse(json.origin() + ": key 'n_embd' must be a multiple of 'n_head'");
    c.head_dim = c.width / c.heads;
    c.inner = json.integer("n_inner", 1, widest, 4 * c.width);
    c.window = json.integer("n_positions", 1, longest, 1024);
    c.norm_epsilon = json.number("layer_norm_epsilon", 0, 1, 1e-5);
    c.tied_head = json.boolean("tie_word_embeddings", true);
    c.activation = activation(json, "activation_function", "gelu_new", {"gelu_new", "gelu"});
    refuse_option(json, "scale_attn_weights", true);
    refuse_option(json, "scale_attn_by_inverse_layer_idx", false);
    refuse_option(json, "add_cross_attention", false);
}

// transformers 5 holds everything in rope_parameters; before it, rope_theta stood alone beside rope_scaling.
model_config::rope_parameters read_rope(const json_reader& json) {
    model_config::rope_parameters rope;
    const std::string key = json.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
    const nlohmann::json object = json.has(key) ? json.at(key) : nlohmann::json::object();
    if (!object.is_object()) refuse(fmt::format("{}: key '{}' must be an object", json.origin(), key));
    const json_reader scaling(object, fmt::format("{}: {}", json.origin(), key));
    const json_reader& theta = scaling.has("rope_theta") ? scaling : json;
    rope.theta = theta.number("rope_theta", 1, 1e12, 10000);
    rope.type = scaling.text(scaling.has("rope_type") ? "rope_type" : "type", "default");
    if (scaling.has("partial_rotary_factor") || json.has("partial_rotary_factor"))
        refuse(json.origin() + ": key 'partial_rotary_factor' is not supported");
    if (rope.type == "default") return rope;
    if (rope.type != "linear" && rope.type != "llama3")
        refuse(fmt::format("{}: rope_type is '{}'; supported: default, linear, llama3", scaling.origin(), rope.type));
    rope.factor = scaling.number("factor", 1, 1e6);
    if (rope.type == "linear") return rope;
    rope.low_freq_factor = scaling.number("low_freq_factor", 1e-6, 1e6);
    rope.high_freq_factor = scaling.number("high_freq_factor", 1e-6, 1e6);
    rope.original_window = scaling.integer("original_max_position_embeddings", 1, longest);
    if (rope.high_freq_factor <= rope.low_freq_factor)
        refuse(scaling.origin() + ": key 'high_freq_factor' must be above 'low_freq_factor'");
    return rope;
}

void read_llama(const json_reader& json, model_config& c) {
    const bool mistral = c.model_type == "mistral";
    c.width = json.integer("hidden_size", 1, widest);
    c.layers = json.integer("num_hidden_layers", 1, most_layers);
    c.heads = json.integer("num_attention_heads", 1, most_heads);
    c.kv_heads = json.integer("num_key_value_heads", 1, most_heads, mistral ? 8 : c.heads);
    if (c.heads % c.kv_heads != 0)
        refuse(json.origin() + ": key 'num_attention_heads' must be a multiple of 'num_key_value_heads'");
    if (!json.has("head_dim") && c.width % c.heads != 0)
        refuse(json.origin() + ": key 'hidden_size' must be a multiple of 'num_attention_heads'");
    c.head_dim = json.integer("head_dim", 2, widest, c.width / c.heads);
    if (c.head_dim % 2 != 0) refuse(json.origin() + ": key 'head_dim' must be even for rotary positions");
    c.inner = json.integer("intermediate_size", 1, widest);
    c.window = json.integer("max_position_embeddings", 1, longest, mistral ? 131072 : 2048);
    c.norm_epsilon = json.number("rms_norm_eps", 0, 1, 1e-6);
    c.tied_head = json.boolean("tie_word_embeddings", false);
    c.activation = activation(json, "hidden_act", "silu", {"silu"});
    c.rope = read_rope(json);
    if (mistral && json.has("sliding_window")) c.sliding_window = json.integer("sliding_window", 1, longest);
    refuse_option(json, "attention_bias", false);
    refuse_option(json, "mlp_bias", false);
}

}  // namespace

model_config read_model_config(const std::filesystem::path& directory) {
    const auto path = directory / "config.json";
    const nlohmann::json object = read_object(path);
    const json_reader json(object, path.string());
    model_config c;
    c.model_type = json.text("model_type");
    if (c.model_type == "gpt2")
        read_gpt2(json, c);
    else if (c.model_type == "llama" || c.model_type == "mistral")
        read_llama(json, c);
    else
        refuse(fmt::format("{}: model_type '{}' is not supported; supported: gpt2, llama, mistral", path.string(),
                           c.model_type));
    c.vocab = json.integer("vocab_size", 1, largest_vocabulary);
    c.bos = first_token(json, "bos_token_id");
    c.pad = first_token(json, "pad_token_id");
    c.eos = token_list(json, "eos_token_id");
    return c;
}

std::vector<std::int64_t> read_stop_tokens(const std::filesystem::path& directory) {
    std::vector<std::int64_t> tokens;
    for (const auto* name : {"generation_config.json", "config.json"}) {
        const auto path = directory / name;
        if (!tokens.empty() || !std::filesystem::exists(path)) continue;
        const nlohmann::json object = read_object(path);
        tokens = token_list(json_reader(object, path.string()), "eos_token_id");
        std::erase_if(tokens, [](auto id) { return id < 0; });  // -1 stands for none
    }
    return tokens;
}

}  // namespace rldp::models

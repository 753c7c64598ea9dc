#include "models/architecture/model_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "base/kinds.hpp"
#include "models/architecture/family.hpp"

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

model_config::rope_parameters read_rope(const json_reader& scaling, const json_reader& with_theta, double theta) {
    model_config::rope_parameters rope;
    rope.theta = with_theta.number("rope_theta", 1, 1e12, theta);
    rope.type = scaling.text(scaling.has("rope_type") ? "rope_type" : "type", "default");
    if (scaling.number("partial_rotary_factor", 0, 1, 1) != 1)
        refuse(scaling.origin() + ": key 'partial_rotary_factor' is supported only as 1");
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

nlohmann::json object_at(const json_reader& json, const std::string& key) {
    nlohmann::json object = json.has(key) ? json.at(key) : nlohmann::json::object();
    if (!object.is_object()) refuse(fmt::format("{}: key '{}' must be an object", json.origin(), key));
    return object;
}

// transformers 5 holds everything in rope_parameters, for Gemma 3 once for each kind of layer; before it, rope_theta
// stood alone beside rope_scaling, which is of full layers.
void read_rotations(const json_reader& json, const family& row, model_config& c) {
    if (json.number("partial_rotary_factor", 0, 1, 1) != 1)
        refuse(json.origin() + ": key 'partial_rotary_factor' is supported only as 1");
    const std::string key = json.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
    const nlohmann::json object = object_at(json, key);
    const json_reader scaling(object, fmt::format("{}: {}", json.origin(), key));
    if (row.two_rotations && json.has("rope_parameters")) {
        const auto of = [&](const std::string& layers, double theta) {
            scaling.at(layers);  // or is refused
            const nlohmann::json part = object_at(scaling, layers);
            const json_reader reader(part, fmt::format("{}.{}", scaling.origin(), layers));
            return read_rope(reader, reader, theta);
        };
        c.rope = of("full_attention", row.theta);
        c.sliding_rope = of("sliding_attention", 10000);
        return;
    }
    c.rope = read_rope(scaling, scaling.has("rope_theta") ? scaling : json, row.theta);
    if (!row.two_rotations) return;
    c.sliding_rope = model_config::rope_parameters{};
    c.sliding_rope->theta = json.number("rope_local_base_freq", 1, 1e12, 10000);
}

// A key that is null says none, one that is not there leaves it to the family.
template <class T, class Read>
std::optional<T> read_or_none(const nlohmann::json& object, const std::string& key, std::optional<T> absent,
                              const Read& read) {
    const auto found = object.find(key);
    if (found == object.end()) return absent;
    return found->is_null() ? std::nullopt : std::optional<T>(read());
}

// Which layers slide, by transformers 5's list.
std::vector<bool> listed_layers(const json_reader& json, const model_config& c) {
    const auto& list = json.at("layer_types");
    if (!list.is_array() || list.size() != static_cast<std::size_t>(c.layers))
        refuse(json.origin() + ": key 'layer_types' must list as many layers as 'num_hidden_layers' says");
    std::vector<bool> slide;
    for (const auto& kind : list) {
        if (kind != "full_attention" && kind != "sliding_attention")
            refuse(json.origin() + ": key 'layer_types' must hold 'full_attention' and 'sliding_attention' alone");
        slide.push_back(kind == "sliding_attention");
    }
    return slide;
}

std::vector<bool> ruled_layers(const json_reader& json, const family& row, const model_config& c) {
    std::vector<bool> slide;
    const bool by_period = row.windows == window_rule::but_every_nth;
    const auto first = by_period ? 0 : json.integer("max_window_layers", 0, 1 << 20, 28);
    const auto period =
        row.period_is_key ? json.integer("sliding_window_pattern", 1, most_layers, row.period) : row.period;
    for (std::int64_t layer = 0; layer < c.layers; ++layer)
        slide.push_back(by_period ? (layer + 1) % period != 0 : layer >= first);
    return slide;
}

void read_windows(const nlohmann::json& object, const json_reader& json, const family& row, model_config& c) {
    if (row.windows == window_rule::none) return;
    if (row.windows != window_rule::from_layer || json.boolean("use_sliding_window", false))
        c.sliding_window = read_or_none(object, "sliding_window", row.sliding_window,
                                        [&] { return json.integer("sliding_window", 1, longest); });
    if (row.windows == window_rule::all) return;
    const bool listed = json.has("layer_types");
    auto slide = listed ? listed_layers(json, c) : ruled_layers(json, row, c);
    const bool any = std::find(slide.begin(), slide.end(), true) != slide.end();
    if (any && !c.sliding_window && (listed || row.windows == window_rule::but_every_nth))
        refuse(json.origin() + ": key 'sliding_window' is missing, but layers slide");
    if (c.sliding_window) c.sliding_layers = std::move(slide);
}

void read_scores(const nlohmann::json& object, const json_reader& json, const family& row, model_config& c) {
    constexpr double smallest = 1e-3, largest = 1e6;
    const auto cap = [&](const std::string& key, bool known, std::optional<double> absent) {
        const auto found = read_or_none(object, key, absent, [&] { return json.number(key, smallest, largest); });
        if (found && !known) refuse(fmt::format("{}: key '{}' is supported only as null", json.origin(), key));
        return found;
    };
    if (row.query_scalar) c.query_scalar = json.number("query_pre_attn_scalar", smallest, largest, 256);
    c.attention_cap = cap("attn_logit_softcapping", row.attention_cap, row.attention_cap_if_absent);
    c.final_cap = cap("final_logit_softcapping", row.final_cap, row.final_cap_if_absent);
}

void read_decoder(const nlohmann::json& object, const json_reader& json, const family& row, model_config& c) {
    c.width = json.integer("hidden_size", 1, widest);
    c.layers = json.integer("num_hidden_layers", 1, most_layers);
    c.heads = json.integer("num_attention_heads", 1, most_heads);
    c.kv_heads = json.integer("num_key_value_heads", 1, most_heads, row.kv_heads > 0 ? row.kv_heads : c.heads);
    if (c.heads % c.kv_heads != 0)
        refuse(json.origin() + ": key 'num_attention_heads' must be a multiple of 'num_key_value_heads'");
    if (!json.has("head_dim") && row.head_dim == 0 && c.width % c.heads != 0)
        refuse(json.origin() + ": key 'hidden_size' must be a multiple of 'num_attention_heads'");
    c.head_dim = json.integer("head_dim", 2, widest, row.head_dim > 0 ? row.head_dim : c.width / c.heads);
    if (c.head_dim % 2 != 0) refuse(json.origin() + ": key 'head_dim' must be even for rotary positions");
    c.inner = json.integer("intermediate_size", 1, widest);
    c.window = json.integer("max_position_embeddings", 1, longest, row.longest);
    c.norm_epsilon = json.number("rms_norm_eps", 0, 1, row.norm_epsilon);
    c.tied_head = json.boolean("tie_word_embeddings", row.tied_head);
    c.activation = activation(json, std::string(row.activation_key), std::string(row.activation), {row.activation});
    read_rotations(json, row, c);
    read_windows(object, json, row, c);
    read_scores(object, json, row, c);
    // Qwen2's biases have no key.
    if (!row.qkv_bias) refuse_option(json, "attention_bias", false);
    refuse_option(json, "mlp_bias", false);
    refuse_option(json, "use_bidirectional_attention", false);
    refuse_option(json, "use_mrope", false);
}

// Under all names that its writers gave it: transformers, compressed-tensors, MLX.
void refuse_quantization(const json_reader& json) {
    for (const char* key : {"quantization_config", "compression_config", "quantization"}) {
        if (!json.has(key)) continue;
        const auto& how = json.at(key);
        const auto method = how.is_object() ? how.value("quant_method", nlohmann::json()) : nlohmann::json();
        if (method == "bitsandbytes") continue;  // which of its tensors are, and how, their files say
        refuse(
            fmt::format("{}: key '{}': the weights are quantized{}; take the model in bfloat16, float16 or float32 of "
                        "which this was made",
                        json.origin(), key, method.is_string() ? " by " + method.get<std::string>() : ""));
    }
}

[[noreturn]] void refuse_family(const std::string& origin, const std::string& model_type) {
    std::string names;
    for (const auto& row : all_families()) names += (names.empty() ? "" : ", ") + std::string(row.model_type);
    if (const std::string text = model_type + "_text"; find_family(text))
        refuse(
            fmt::format("{}: model_type '{}' is a model of text and images; of these only the text's own "
                        "checkpoint, '{}', is supported",
                        origin, model_type, text));
    refuse(fmt::format("{}: model_type '{}' is not supported; supported: {}", origin, model_type, names));
}

/// Where models come from, for those who give the name that one has elsewhere.
void refuse_absent(const std::filesystem::path& directory) {
    if (std::filesystem::exists(directory / "config.json")) return;
    const bool there = std::filesystem::is_directory(directory);
    const auto name = directory.string();
    refuse(
        fmt::format("{}: {}; a model is a directory as Hugging Face has them, and one that is there is downloaded by: "
                    "pip install huggingface_hub; hf download {} --local-dir models/{} (rldp models says more)",
                    name, there ? "holds no config.json" : "no such directory", there ? "NAME" : name,
                    there ? "NAME" : directory.filename().string()));
}

}  // namespace

model_config read_model_config(const std::filesystem::path& directory) {
    refuse_absent(directory);
    const auto path = directory / "config.json";
    const nlohmann::json object = read_object(path);
    const json_reader json(object, path.string());
    model_config c;
    c.model_type = json.text("model_type");
    if (c.model_type == "gpt2")
        read_gpt2(json, c);
    else if (const auto* const row = find_family(c.model_type))
        read_decoder(object, json, *row, c);
    else
        refuse_family(path.string(), c.model_type);
    refuse_quantization(json);
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

bool model_config::slides(std::int64_t layer) const {
    return sliding_window && (sliding_layers.empty() || sliding_layers.at(static_cast<std::size_t>(layer)));
}

std::optional<std::int64_t> model_config::find_window(std::int64_t layer) const {
    return slides(layer) ? sliding_window : std::nullopt;
}

double model_config::score_scale() const {
    return 1 / std::sqrt(query_scalar.value_or(static_cast<double>(head_dim)));
}

}  // namespace rldp::models

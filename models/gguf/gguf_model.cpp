#include "models/gguf/gguf_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <set>

#include "base/error.hpp"
#include "base/kinds.hpp"
#include "models/architecture/family.hpp"

namespace rldp::models {

namespace {

// Bounds of what is believed, as of config.json.
constexpr std::int64_t most_layers = 1024, most_heads = 4096, widest = 1 << 20, largest_vocabulary = 1 << 24;

constexpr auto embedding_name = "token_embd.weight", head_name = "output.weight",
               frequencies_name = "rope_freqs.weight";

struct gguf_architecture {
    std::string_view name, model_type;
    bool in_pairs = false;  ///< rows of q and k that are rotated together are neighbours
    bool from_one = false;  ///< norms' weights have 1 added
};

constexpr gguf_architecture architectures[] = {{"gpt2", "gpt2"},
                                               {"llama", "llama", true, false},
                                               {"phi3", "phi3"},
                                               {"qwen2", "qwen2"},
                                               {"qwen3", "qwen3"},
                                               {"gemma2", "gemma2", false, true},
                                               {"gemma3", "gemma3_text", false, true}};

const gguf_architecture& find_architecture(const gguf_file& file) {
    const auto name = file.text("general.architecture");
    for (const auto& row : architectures)
        if (row.name == name) return row;
    std::string known;
    for (const auto& row : architectures) known += (known.empty() ? "" : ", ") + std::string(row.name);
    refuse(fmt::format("{}: architecture '{}' is not read from GGUF; {} are", file.origin(), name, known));
}

/// Reads the keys of one architecture.
class config_reader {
  public:
    explicit config_reader(const gguf_file& file) : file_(file), architecture_(find_architecture(file)) {
        if (!is_gpt2()) row_ = require_family(architecture_.model_type);
    }

    model_config read() {
        refuse_other_models();
        model_config c;
        c.model_type = architecture_.model_type;
        read_sizes(c);
        c.norm_epsilon =
            file_.number(key(is_gpt2() ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon"), 0, 1);
        c.activation = is_gpt2() ? "gelu_new" : row_.activation;
        c.tied_head = !file_.tensors().contains(head_name);
        if (!is_gpt2()) {
            read_rotation(c);
            read_windows(c);
            read_scores(c);
        }
        read_tokens(c);
        check_tensors(c);
        return c;
    }

  private:
    bool is_gpt2() const { return architecture_.model_type == "gpt2"; }
    std::string key(const std::string& name) const { return fmt::format("{}.{}", architecture_.name, name); }

    void refuse_other_models() const {
        if (const auto type = file_.text("general.type", "model"); type != "model")
            file_.refuse_key("general.type", fmt::format("is '{}'; a model is read", type));
        if (const auto parts = file_.integer("split.count", 0, 1 << 16, 1); parts > 1)
            refuse(fmt::format("{}: one of {} files of a model; join them with llama-gguf-split --merge",
                               file_.origin(), parts));
        if (file_.integer(key("expert_count"), 0, 1 << 20, 0) > 0)
            file_.refuse_key(key("expert_count"), "is above 0: mixtures of experts are not supported");
    }

    void read_sizes(model_config& c) const {
        const auto& embedding = tensor(embedding_name);
        c.vocab = embedding.shape.front();
        if (c.vocab > largest_vocabulary)
            refuse(fmt::format("{}: tensor '{}' has {} rows; at most {} are read", file_.origin(), embedding_name,
                               c.vocab, largest_vocabulary));
        c.width = file_.integer(key("embedding_length"), 1, widest);
        c.layers = file_.integer(key("block_count"), 1, most_layers);
        c.heads = file_.integer(key("attention.head_count"), 1, most_heads);
        c.kv_heads = file_.integer(key("attention.head_count_kv"), 1, most_heads, c.heads);
        if (c.heads % c.kv_heads != 0)
            file_.refuse_key(key("attention.head_count"), "must be a multiple of attention.head_count_kv");
        const auto head = key("attention.key_length"), value = key("attention.value_length");
        if (!file_.has(head) && c.width % c.heads != 0)
            file_.refuse_key(key("embedding_length"), "must be a multiple of attention.head_count");
        c.head_dim = file_.integer(head, 2, widest, c.width / c.heads);
        if (c.head_dim % 2 != 0) file_.refuse_key(head, "must be even for rotary positions");
        if (file_.integer(value, 1, widest, c.head_dim) != c.head_dim)
            file_.refuse_key(value, "differs from attention.key_length, which is not supported");
        if (is_gpt2() && c.kv_heads * c.head_dim != c.width)
            file_.refuse_key(key("attention.head_count_kv"), "and attention.key_length are not a gpt2's");
        if (file_.integer(key("rope.dimension_count"), 1, widest, c.head_dim) != c.head_dim)
            file_.refuse_key(key("rope.dimension_count"),
                             fmt::format("must be {}: heads that are rotated in part are not supported", c.head_dim));
        c.inner = file_.integer(key("feed_forward_length"), 1, widest);
        c.window = file_.integer(key("context_length"), 1, limits::longest_window);
        const auto stated = file_.integer(key("vocab_size"), 1, largest_vocabulary, c.vocab);
        if (stated > c.vocab)
            file_.refuse_key(key("vocab_size"),
                             fmt::format("is {}, but tensor '{}' has {} rows", stated, embedding_name, c.vocab));
    }

    const gguf_tensor& tensor(const std::string& name) const {
        const auto found = file_.tensors().find(name);
        if (found == file_.tensors().end()) refuse(fmt::format("{}: tensor '{}' is missing", file_.origin(), name));
        return found->second;
    }

    void read_rotation(model_config& c) const {
        c.rope.theta = file_.number(key("rope.freq_base"), 1, 1e12, row_.theta);
        const auto scaling = key("rope.scaling.type");
        const auto type = file_.text(scaling, "none");
        if (type == "linear") {
            c.rope.type = type;
            c.rope.factor = file_.number(key("rope.scaling.factor"), 1, 1e6);
        } else if (type != "none") {
            file_.refuse_key(scaling, fmt::format("is '{}'; none and linear are supported, and Llama 3's, which is a "
                                                  "tensor",
                                                  type));
        }
        if (file_.tensors().contains(frequencies_name)) read_frequencies(c);
        for (const auto* name : {"rope_factors_long.weight", "rope_factors_short.weight"})
            if (file_.tensors().contains(name))
                refuse(fmt::format("{}: tensor '{}' is longrope's, which is not supported", file_.origin(), name));
        if (!row_.two_rotations) return;
        c.sliding_rope = model_config::rope_parameters{};
        c.sliding_rope->theta = file_.number(key("rope.freq_base_swa"), 1, 1e12, 10000);
    }

    /// Llama 3's rule (Dubey et al. 2024): the converter leaves what each frequency is divided by, not the parameters,
    /// of which only the factor has differed so far.
    void read_frequencies(model_config& c) const {
        const auto divisors = file_.tensor(frequencies_name);
        const auto where = fmt::format("{}: tensor '{}'", file_.origin(), frequencies_name);
        if (divisors.rows != 1 || divisors.columns != c.head_dim / 2)
            refuse(fmt::format("{} must have {} numbers", where, c.head_dim / 2));
        std::vector<float> found(static_cast<std::size_t>(divisors.columns));
        divisors.read_rows(0, 1, found.data());
        auto rope = c.rope;
        rope.factor = std::round(*std::max_element(found.begin(), found.end()) * 64) / 64;
        if (c.rope.type != "default" || !(rope.factor >= 1 && rope.factor <= 1e6))
            refuse(where + " is not of Llama 3's kind, which alone is supported");
        rope.type = "llama3";
        rope.low_freq_factor = 1;
        rope.high_freq_factor = 4;
        rope.original_window = 8192;
        for (std::size_t i = 0; i < found.size(); ++i) {
            const double frequency =
                std::pow(rope.theta, -2.0 * static_cast<double>(i) / static_cast<double>(c.head_dim));
            const double turns = static_cast<double>(rope.original_window) * frequency / (2 * std::numbers::pi);
            const double smooth = (turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
            const double wanted = 1 / ((1 - std::clamp(smooth, 0.0, 1.0)) / rope.factor + std::clamp(smooth, 0.0, 1.0));
            constexpr double rounding = 1e-4;
            if (!(std::abs(static_cast<double>(found[i]) - wanted) <= rounding * wanted))
                refuse(fmt::format("{}: number {} is {}; Llama 3's rule gives {}", where, i, found[i], wanted));
        }
        if (rope.factor > 1) c.rope = rope;
    }

    void read_windows(model_config& c) const {
        const auto window = key("attention.sliding_window"), pattern = key("attention.sliding_window_pattern");
        if (row_.windows == window_rule::all) {  // 0 of a Phi-3 without one
            if (const auto keys = file_.integer(window, 0, limits::longest_window, 0); keys > 0)
                c.sliding_window = keys;
            return;
        }
        if (row_.windows != window_rule::but_every_nth) {
            if (!file_.has(window)) return;
            if (c.model_type != "llama")
                file_.refuse_key(window, fmt::format("is there, which a {} of this kind does not have", c.model_type));
            c.model_type = "mistral";
            c.sliding_window = file_.integer(window, 1, limits::longest_window);
            return;
        }
        c.sliding_window = file_.integer(window, 1, limits::longest_window, row_.sliding_window.value_or(4096));
        if (file_.has(pattern) && file_.is_list(pattern) && file_.count(pattern) != 1) {
            const auto slide = file_.integers(pattern);
            if (slide.size() != static_cast<std::size_t>(c.layers))
                file_.refuse_key(pattern, "must list as many layers as block_count says");
            for (const auto one : slide) c.sliding_layers.push_back(one != 0);
            return;
        }
        const auto period = file_.integer(pattern, 1, most_layers, row_.period);
        for (std::int64_t layer = 0; layer < c.layers; ++layer) c.sliding_layers.push_back((layer + 1) % period != 0);
    }

    void read_scores(model_config& c) const {
        constexpr double smallest = 1e-3, largest = 1e6;
        const auto cap = [&](const std::string& name, bool known,
                             std::optional<double> absent) -> std::optional<double> {
            if (!file_.has(key(name))) return absent;
            if (!known) file_.refuse_key(key(name), "is not supported of this architecture");
            return file_.number(key(name), smallest, largest);
        };
        c.attention_cap = cap("attn_logit_softcapping", row_.attention_cap, row_.attention_cap_if_absent);
        c.final_cap = cap("final_logit_softcapping", row_.final_cap, row_.final_cap_if_absent);
        if (!row_.query_scalar) return;
        // llama.cpp tells the 27B of both generations, whose scores are scaled otherwise, by its number of layers.
        const bool largest_model = c.layers == (c.model_type == "gemma2" ? 46 : 62);
        c.query_scalar = static_cast<double>(largest_model ? c.width / c.heads : c.head_dim);
    }

    void read_tokens(model_config& c) const {
        const auto token = [&](const char* name) -> std::optional<std::int64_t> {
            const auto full = std::string("tokenizer.ggml.") + name;
            if (!file_.has(full)) return std::nullopt;
            const auto id = file_.integer(full, -1, std::int64_t{1} << 32);
            if (id < 0 || id == 0xffffffff) return std::nullopt;  // none
            if (id >= c.vocab)
                file_.refuse_key(full, fmt::format("is {}, but tensor '{}' has {} rows", id, embedding_name, c.vocab));
            return id;
        };
        c.bos = token("bos_token_id");
        c.pad = token("padding_token_id");
        for (const char* name : {"eos_token_id", "eot_token_id"})
            if (const auto id = token(name); id && std::find(c.eos.begin(), c.eos.end(), *id) == c.eos.end())
                c.eos.push_back(*id);
    }

    /// Each of the model's is there and has its shape, and none is there that would count for nothing.
    void check_tensors(const model_config& c) const {
        std::set<std::string> known{frequencies_name};
        const auto modules = list_module_weights(c);
        for (auto& [name, shape] : base_tensors(c)) {
            const auto inside = to_gguf_name(c, name);
            known.insert(inside);
            if (is_gpt2() && modules.contains(name)) std::reverse(shape.begin(), shape.end());
            if (const auto& found = tensor(inside).shape; found != shape)
                refuse(fmt::format("{}: tensor '{}' has shape [{}]; the metadata ask for [{}]", file_.origin(), inside,
                                   fmt::join(found, ", "), fmt::join(shape, ", ")));
        }
        for (const auto& [name, unused] : file_.tensors())
            if (!known.contains(name))
                refuse(fmt::format("{}: tensor '{}' is none of a {}'s that is supported here", file_.origin(), name,
                                   architecture_.name));
    }

    const gguf_file& file_;
    const gguf_architecture& architecture_;
    family row_;  ///< GPT-2 has none
};

/// Names within a block. After attention Gemma has a norm that Llama does not; Llama's "post_attention_layernorm" comes
/// before its MLP.
std::string to_block_name(const std::string& name, bool outer_norms) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 20> all{
        {{"input_layernorm", "attn_norm"},
         {"self_attn.q_proj", "attn_q"},
         {"self_attn.k_proj", "attn_k"},
         {"self_attn.v_proj", "attn_v"},
         {"self_attn.o_proj", "attn_output"},
         {"self_attn.q_norm", "attn_q_norm"},
         {"self_attn.k_norm", "attn_k_norm"},
         {"mlp.gate_proj", "ffn_gate"},
         {"mlp.up_proj", "ffn_up"},
         {"mlp.down_proj", "ffn_down"},
         {"pre_feedforward_layernorm", "ffn_norm"},
         {"post_feedforward_layernorm", "post_ffw_norm"},
         {"self_attn.qkv_proj", "attn_qkv"},  // Phi-3's
         {"mlp.gate_up_proj", "ffn_up"},
         {"ln_1", "attn_norm"},  // GPT-2's
         {"ln_2", "ffn_norm"},
         {"attn.c_attn", "attn_qkv"},
         {"attn.c_proj", "attn_output"},
         {"mlp.c_fc", "ffn_up"},
         {"mlp.c_proj", "ffn_down"}}};
    if (name == "post_attention_layernorm") return outer_norms ? "post_attention_norm" : "ffn_norm";
    for (const auto& [theirs, ours] : all)
        if (theirs == name) return std::string(ours);
    bug("GGUF has no name for " + name);
}

/// Hugging Face's rows of a head are its first halves of rotated pairs, then the second ones.
quantized_tensor in_halves(const quantized_tensor& pairs, std::int64_t head_dim) {
    const auto row_bytes = pairs.count_row_bytes(), half = head_dim / 2;
    auto made = make_bytes(pairs.rows * row_bytes);
    for (std::int64_t row = 0; row < pairs.rows; ++row) {
        const auto head = row / head_dim, within = row % head_dim;
        const auto from = head * head_dim + within % half * 2 + within / half;
        std::memcpy(made.bytes.data() + row * row_bytes, pairs.bytes.data() + from * row_bytes,
                    static_cast<std::size_t>(row_bytes));
    }
    return make_quantized(pairs.type, pairs.rows, pairs.columns, std::move(made.owner), made.bytes);
}

quantized_tensor without_one(const quantized_tensor& gains) {
    std::vector<float> numbers(static_cast<std::size_t>(gains.columns));
    return quantize_matrix(block_type::f32, gains.rows, gains.columns, [&](std::int64_t row) {
        gains.read_rows(row, 1, numbers.data());
        for (float& number : numbers) number -= 1;
        return numbers.data();
    });
}

}  // namespace

model_config read_gguf_config(const gguf_file& file) {
    return config_reader(file).read();
}

std::string to_gguf_name(const model_config& config, const std::string& name) {
    if (name == "model.embed_tokens.weight" || name == "transformer.wte.weight") return embedding_name;
    if (name == "transformer.wpe.weight") return "position_embd.weight";
    if (name == "lm_head.weight") return head_name;
    const auto last = name.rfind('.');
    require(last != std::string::npos, "GGUF has no name for " + name);
    const auto module = name.substr(0, last);
    if (module == "model.norm" || module == "transformer.ln_f") return "output_norm" + name.substr(last);
    const auto* const row = find_family(config.model_type);
    const std::string blocks = row ? "model.layers." : "transformer.h.";
    const auto dot = module.find('.', blocks.size());
    require(module.starts_with(blocks) && dot != std::string::npos, "GGUF has no name for " + name);
    return fmt::format("blk.{}.{}{}", module.substr(blocks.size(), dot - blocks.size()),
                       to_block_name(module.substr(dot + 1), row && row->outer_norms), name.substr(last));
}

quantized_tensor read_gguf_tensor(const gguf_file& file, const model_config& config, const std::string& name) {
    auto out = file.tensor(to_gguf_name(config, name));
    const auto& architecture = find_architecture(file);
    const bool rotated = name.ends_with("q_proj.weight") || name.ends_with("k_proj.weight");
    if (architecture.in_pairs && rotated) return in_halves(out, config.head_dim);
    if (architecture.from_one && name.ends_with("norm.weight")) return without_one(out);
    return out;
}

std::optional<std::string> find_chat_template(const gguf_file& file) {
    constexpr auto key = "tokenizer.chat_template";
    return file.has(key) ? std::optional(file.text(key)) : std::nullopt;
}

}  // namespace rldp::models

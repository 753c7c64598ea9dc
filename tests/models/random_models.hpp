#pragma once
// Small random models of every family, from a seed.
#include <random>

#include "models/architecture/modules.hpp"
#include "tests/models/support.hpp"

namespace rldp::models::test {

class random_source {
  public:
    explicit random_source(unsigned seed) : engine_(seed) { at::manual_seed(seed); }
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
    }
    template <class T>
    T one_of(std::initializer_list<T> items) {
        return items.begin()[between(0, static_cast<std::int64_t>(items.size()) - 1)];
    }

  private:
    std::mt19937 engine_;
};

inline model_config random_config(random_source& random) {
    model_config c;
    c.model_type = random.one_of<std::string>({"gpt2", "llama", "mistral"});
    const bool gpt2 = c.model_type == "gpt2";
    c.vocab = random.between(5, 40);
    c.layers = random.between(1, 3);
    c.kv_heads = random.between(1, 3);
    c.heads = gpt2 ? c.kv_heads : c.kv_heads * random.between(1, 3);
    c.head_dim = 2 * random.between(1, 4);
    c.width = gpt2 ? c.heads * c.head_dim : random.between(4, 20);
    c.inner = random.between(3, 30);
    c.window = 300;
    c.tied_head = random.between(0, 1) == 1;
    c.activation = gpt2 ? random.one_of<std::string>({"gelu_new", "gelu"}) : "silu";
    if (c.model_type == "mistral") c.sliding_window = random.between(1, 6);
    if (random.between(0, 1)) c.rope = {500.0, "llama3", 8.0, 1.0, 4.0, 32};
    return c;
}

inline std::map<std::string, at::Tensor> random_weights(const model_config& config) {
    std::map<std::string, at::Tensor> weights;
    for (const auto& [name, shape] : base_tensors(config)) {
        const bool is_gain = shape.size() == 1 && name.ends_with(".weight");
        weights[name] = is_gain ? 1 + 0.3 * at::randn(shape) : 0.4 * at::randn(shape);
    }
    return weights;
}

/// A GPT-2 of width 8, vocabulary 17 and window 16.
inline std::shared_ptr<const causal_lm> tiny_gpt2(unsigned seed, std::int64_t layers = 2) {
    model_config c;
    c.model_type = "gpt2";
    c.vocab = 17;
    c.width = 8;
    c.layers = layers;
    c.heads = c.kv_heads = 2;
    c.head_dim = 4;
    c.inner = 32;
    c.window = 16;
    c.activation = "gelu_new";
    at::manual_seed(seed);
    return causal_lm::from_weights(c, random_weights(c));
}

/// Random adapter: some roles, B not zero.
inline lora_config random_lora(random_source& random, const model_config& model) {
    lora_config config{random.between(1, 4), static_cast<double>(random.between(1, 16)), 0, {}};
    const bool gpt2 = model.model_type == "gpt2";
    if (gpt2 && random.between(0, 2) == 0) config.targets.emplace_back("c_attn");
    for (const auto& module : block_modules(model, 0))
        if (module.role != "c_attn" && random.between(0, 1) &&
            !(!module.inside.empty() && !config.targets.empty() && config.targets[0] == "c_attn"))
            config.targets.push_back(module.role);
    if (config.targets.empty()) config.targets = {"v"};
    return config;
}

inline std::vector<std::vector<std::int32_t>> random_sequences(random_source& random, std::int64_t vocab,
                                                               std::int64_t longest) {
    std::vector<std::vector<std::int32_t>> sequences(static_cast<std::size_t>(random.between(1, 5)));
    for (auto& sequence : sequences)
        for (std::int64_t length = random.between(2, longest); length > 0; --length)
            sequence.push_back(static_cast<std::int32_t>(random.between(0, vocab - 1)));
    return sequences;
}

}  // namespace rldp::models::test

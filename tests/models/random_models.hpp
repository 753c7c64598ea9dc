#pragma once
// Small random models of every family, from a seed.
#include <random>
#include <set>

#include "models/architecture/family.hpp"
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

/// Every model_type that there is.
inline std::vector<std::string> model_types() {
    std::vector<std::string> types{"gpt2"};
    for (const family& row : families()) types.emplace_back(row.model_type);
    return types;
}

/// What a family's config.json may choose, at random.
inline void choose_decoder(random_source& random, const family& row, model_config& c) {
    c.activation = row.activation;
    if (random.between(0, 1)) c.rope = {500.0, "llama3", 8.0, 1.0, 4.0, 32};
    if (row.windows != window_rule::none && (row.windows != window_rule::from_layer || random.between(0, 1)))
        c.sliding_window = random.between(1, 6);
    if (row.windows == window_rule::from_layer || row.windows == window_rule::but_every_nth)
        for (std::int64_t layer = 0; layer < c.layers; ++layer) c.sliding_layers.push_back(random.between(0, 1) == 1);
    if (row.two_rotations) c.sliding_rope = {50.0, "linear", 3.0};
    if (row.query_scalar) c.query_scalar = static_cast<double>(random.between(2, 12));
    if (row.attention_cap) c.attention_cap = random.one_of<double>({1.5, 4, 50});
    if (row.final_cap) c.final_cap = random.one_of<double>({2, 5, 30});
}

inline model_config random_config(random_source& random, const std::string& model_type) {
    model_config c;
    c.model_type = model_type;
    const bool gpt2 = model_type == "gpt2";
    c.vocab = random.between(5, 40);
    c.layers = random.between(1, 3);
    c.kv_heads = random.between(1, 3);
    c.heads = gpt2 ? c.kv_heads : c.kv_heads * random.between(1, 3);
    c.head_dim = 2 * random.between(1, 4);
    c.width = gpt2 ? c.heads * c.head_dim : random.between(4, 20);
    c.inner = random.between(3, 30);
    c.window = 300;
    c.tied_head = random.between(0, 1) == 1;
    if (gpt2)
        c.activation = random.one_of<std::string>({"gelu_new", "gelu"});
    else
        choose_decoder(random, require_family(model_type), c);
    return c;
}

inline model_config random_config(random_source& random) {
    const auto types = model_types();
    return random_config(random, types[static_cast<std::size_t>(random.between(0, std::ssize(types) - 1))]);
}

inline std::map<std::string, at::Tensor> random_weights(const model_config& config) {
    std::map<std::string, at::Tensor> weights;
    const auto* const row = find_family(config.model_type);
    const double usual_gain = row && row->gains_from_one ? 0 : 1;
    for (const auto& [name, shape] : base_tensors(config)) {
        const bool is_gain = shape.size() == 1 && name.ends_with(".weight");
        weights[name] = is_gain ? usual_gain + 0.3 * at::randn(shape) : 0.4 * at::randn(shape);
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
    const auto modules = block_modules(model, 0);
    const auto has_parts = [&](const linear_module& module) {
        return std::any_of(modules.begin(), modules.end(),
                           [&](const auto& part) { return part.inside == module.name; });
    };
    std::set<std::string> whole;  // fused modules that are adapted as such
    for (const auto& module : modules)
        if (has_parts(module) && random.between(0, 2) == 0) {
            whole.insert(module.name);
            config.targets.push_back(module.role);
        }
    for (const auto& module : modules)
        if (!has_parts(module) && random.between(0, 1) && !whole.count(module.inside))
            config.targets.push_back(module.role);
    if (config.targets.empty()) config.targets = {whole.empty() ? "v" : "o"};
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

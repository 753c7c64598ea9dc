#include <torch/torch.h>

#include <cmath>

#include "config/error.hpp"
#include "eval/perplexity.hpp"
#include "tests/catch.hpp"

using namespace rldp;

namespace {

// A GPT-2 of random weights.
std::shared_ptr<const models::causal_lm> tiny_model() {
    models::model_config config;
    config.model_type = "gpt2";
    config.vocab = 17;
    config.width = 8;
    config.layers = 2;
    config.heads = config.kv_heads = 2;
    config.head_dim = 4;
    config.inner = 32;
    config.window = 16;
    config.activation = "gelu_new";
    torch::manual_seed(3);
    const auto random = [](at::IntArrayRef shape) { return 0.5 * torch::randn(shape); };
    std::map<std::string, at::Tensor> weights = {{"transformer.wte.weight", random({17, 8})},
                                                 {"transformer.wpe.weight", random({16, 8})},
                                                 {"transformer.ln_f.weight", 1 + random({8})},
                                                 {"transformer.ln_f.bias", random({8})}};
    for (int layer = 0; layer < 2; ++layer) {
        const auto name = "transformer.h." + std::to_string(layer) + ".";
        for (const char* norm : {"ln_1", "ln_2"}) {
            weights[name + norm + ".weight"] = 1 + random({8});
            weights[name + norm + ".bias"] = random({8});
        }
        const auto linear = [&](const std::string& module, std::int64_t in, std::int64_t out) {
            weights[name + module + ".weight"] = random({in, out});
            weights[name + module + ".bias"] = random({out});
        };
        linear("attn.c_attn", 8, 24);
        linear("attn.c_proj", 8, 8);
        linear("mlp.c_fc", 8, 32);
        linear("mlp.c_proj", 32, 8);
    }
    return models::causal_lm::from_weights(config, weights);
}

// One sequence at a time, from the logits.
double direct(const models::causal_lm& model, const std::vector<std::vector<std::int32_t>>& sequences) {
    double nll = 0;
    std::int64_t tokens = 0;
    for (const auto& sequence : sequences) {
        const auto n = static_cast<std::int64_t>(sequence.size());
        const auto ids = torch::tensor(sequence, torch::kInt32).to(torch::kLong).unsqueeze(0);
        const auto log_p = torch::log_softmax(model.logits(ids, nullptr, nullptr)[0].to(torch::kDouble), -1);
        for (std::int64_t t = 1; t < n; ++t, ++tokens)
            nll -= log_p[t - 1][ids[0][t].item<std::int64_t>()].item<double>();
    }
    return std::exp(nll / static_cast<double>(tokens));
}

}  // namespace

TEST_CASE("perplexity is that of a direct computation, whatever the batch") {
    const auto model = tiny_model();
    std::vector<std::vector<std::int32_t>> sequences;
    for (const int length : {9, 2, 16, 5, 5, 12, 3}) {
        sequences.emplace_back();
        for (int i = 0; i < length; ++i) sequences.back().push_back((7 * i * i + 3 * length + i) % 17);
    }
    const double expected = direct(*model, sequences);
    CHECK(expected > 2);
    for (const std::int64_t batch : {1, 2, 3, 100})
        CHECK(eval::perplexity(*model, nullptr, nullptr, sequences, batch) == Approx(expected).epsilon(1e-5));
    // a single token predicts nothing
    sequences.push_back({4});
    CHECK(eval::perplexity(*model, nullptr, nullptr, sequences, 4) == Approx(expected).epsilon(1e-5));
}

TEST_CASE("perplexity of nothing is refused") {
    const auto model = tiny_model();
    CHECK_THROWS_AS(eval::perplexity(*model, nullptr, nullptr, {}, 4), error);
    CHECK_THROWS_AS(eval::perplexity(*model, nullptr, nullptr, {{1}}, 4), error);
    CHECK_THROWS_AS(eval::perplexity(*model, nullptr, nullptr, {{1, 2}}, 0), error);
}

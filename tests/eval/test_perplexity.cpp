#include <ATen/ATen.h>

#include <cmath>

#include "config/base/error.hpp"
#include "eval/perplexity.hpp"
#include "tests/models/random_models.hpp"

#include "tests/catch.hpp"

using namespace rldp;

namespace {

// One sequence at a time, from the logits.
double direct(const models::causal_lm& model, const std::vector<std::vector<std::int32_t>>& sequences) {
    double nll = 0;
    std::int64_t tokens = 0;
    for (const auto& sequence : sequences) {
        const auto n = static_cast<std::int64_t>(sequence.size());
        const auto ids = at::tensor(sequence, at::kInt).to(at::kLong).unsqueeze(0);
        const auto log_p = at::log_softmax(model.logits(ids, nullptr, nullptr)[0].to(at::kDouble), -1);
        for (std::int64_t t = 1; t < n; ++t, ++tokens)
            nll -= log_p[t - 1][ids[0][t].item<std::int64_t>()].item<double>();
    }
    return std::exp(nll / static_cast<double>(tokens));
}

}  // namespace

TEST_CASE("perplexity is that of a direct computation, whatever the batch") {
    const auto model = models::test::tiny_gpt2(3);
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
    const auto model = models::test::tiny_gpt2(3);
    CHECK_THROWS_AS(eval::perplexity(*model, nullptr, nullptr, {}, 4), error);
    CHECK_THROWS_AS(eval::perplexity(*model, nullptr, nullptr, {{1}}, 4), error);
    CHECK_THROWS_AS(eval::perplexity(*model, nullptr, nullptr, {{1, 2}}, 0), error);
}

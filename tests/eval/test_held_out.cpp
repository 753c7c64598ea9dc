#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "eval/held_out.hpp"
#include "models/marked_token.hpp"
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
        CHECK(eval::score_held_out(*model, nullptr, nullptr, sequences, {.batch = batch}).perplexity ==
              Approx(expected).epsilon(1e-5));
    // a single token predicts nothing
    sequences.push_back({4});
    CHECK(eval::score_held_out(*model, nullptr, nullptr, sequences, {.batch = 4}).perplexity ==
          Approx(expected).epsilon(1e-5));
}

TEST_CASE("perplexity of nothing is refused") {
    const auto model = models::test::tiny_gpt2(3);
    CHECK_THROWS_AS(eval::score_held_out(*model, nullptr, nullptr, {}, {.batch = 4}), error);
    CHECK_THROWS_AS(eval::score_held_out(*model, nullptr, nullptr, {{1}}, {.batch = 4}), error);
    CHECK_THROWS_AS(eval::score_held_out(*model, nullptr, nullptr, {{1, 2}}, {.batch = 0}), error);
}

TEST_CASE("nats on values are those of the marked tokens, and bits per byte those of all") {
    const auto model = models::test::tiny_gpt2(3);
    const std::vector<models::sequence> plain{{1, 2, 3, 4}, {5, 6, 7}};
    auto marks = plain;
    marks[0][2] = models::marked(3);
    marks[1][1] = models::marked(6);
    marks[1][0] = models::marked(5);  // nothing predicts a first token
    const auto log_p = [&](std::size_t record, std::int64_t t) {
        const auto ids = at::tensor(plain[record], at::kInt).to(at::kLong).unsqueeze(0);
        return at::log_softmax(model->logits(ids, nullptr, nullptr)[0].to(at::kDouble),
                               -1)[t - 1][ids[0][t].item<std::int64_t>()]
            .item<double>();
    };
    CHECK_FALSE(eval::score_held_out(*model, nullptr, nullptr, plain, {.batch = 2}).value_nats);
    for (const std::int64_t batch : {1, 2}) {
        const auto found = eval::score_held_out(*model, nullptr, nullptr, marks, {.batch = batch});
        CHECK(found.perplexity ==
              Approx(eval::score_held_out(*model, nullptr, nullptr, plain, {.batch = 1}).perplexity));
        CHECK(*found.value_nats == Approx(-(log_p(0, 2) + log_p(1, 1)) / 2).epsilon(1e-5));
    }
    const auto answers = eval::score_held_out(*model, nullptr, nullptr, marks, {.batch = 2, .answers_only = true});
    CHECK(answers.perplexity == Approx(std::exp(-(log_p(0, 2) + log_p(1, 1)) / 2)).epsilon(1e-5));
    CHECK_THROWS_AS(eval::score_held_out(*model, nullptr, nullptr, plain, {.batch = 2, .answers_only = true}), error);
    CHECK(eval::held_out{.sequences = marks, .bytes = 4, .answers_only = true}.bits_per_byte(8) == Approx(3.0 * 2 / 4));
    std::stop_source stop;
    const eval::scoring stoppable{.stop = stop.get_token()};
    CHECK(eval::score_held_out(*model, nullptr, nullptr, plain, stoppable).perplexity > 1);
    stop.request_stop();
    CHECK_THROWS_AS(eval::score_held_out(*model, nullptr, nullptr, plain, stoppable), error);
    const eval::held_out records{.sequences = plain, .bytes = 10};
    CHECK(records.bits_per_byte(8) == Approx(3.0 * 5 / 10));
    CHECK_FALSE(records.template_perplexity());
    const eval::held_out table{.sequences = plain, .bytes = 10, .marginal_nats = 1.5};
    CHECK(*table.template_perplexity() == Approx(std::exp(1.5 * static_cast<double>(plain.size()) / 5)));
}

TEST_CASE("a prediction is Bayes' rule over whole texts") {
    const auto model = models::test::tiny_gpt2(3);
    eval::choices among{.column = "c", .clauses = {"x", "y", "z"}, .truth = {}, .alternatives = {}};
    std::vector<std::vector<double>> likely;
    for (std::int32_t r = 0; r < 12; ++r) {
        among.truth.push_back(static_cast<std::size_t>(r % 3));
        among.alternatives.push_back({{1, r, 2}, {1, r, 3, 4}, {1, r, 5}});
        auto& row = likely.emplace_back();
        for (const auto& one : among.alternatives.back())
            row.push_back(-std::log(eval::score_held_out(*model, nullptr, nullptr, {one}, {.batch = 1}).perplexity) *
                          static_cast<double>(one.size() - 1));
    }
    double right = 0, area = 0;
    for (std::size_t c = 0; c < 3; ++c) {
        double won = 0, pairs = 0;
        const auto p = [&](std::size_t r) {
            double sum = 0;
            for (const double l : likely[r]) sum += std::exp(l);
            return std::exp(likely[r][c]) / sum;
        };
        for (std::size_t a = 0; a < 12; ++a)
            for (std::size_t b = 0; b < 12; ++b)
                if (among.truth[a] == c && among.truth[b] != c) {
                    won += p(a) > p(b) ? 1 : p(a) == p(b) ? 0.5 : 0;
                    pairs += 1;
                }
        area += won / pairs / 3;
    }
    for (std::size_t r = 0; r < 12; ++r) {
        const auto best = std::max_element(likely[r].begin(), likely[r].end()) - likely[r].begin();
        right += static_cast<std::size_t>(best) == among.truth[r] ? 1.0 / 12 : 0;
    }
    const auto found = eval::predict(*model, nullptr, nullptr, among, {.batch = 5});
    REQUIRE(found);
    CHECK(found->accuracy == Approx(right));
    CHECK(found->auc == Approx(area).margin(1e-9));
    CHECK(found->records == 12);
    // Where all records are alike nothing is told apart: 0.5, deviating by √((1/4 + 3/12 + 7/12) / 32).
    eval::choices alike{.column = "c", .clauses = {"x", "y"}, .truth = {}, .alternatives = {}};
    for (std::size_t r = 0; r < 12; ++r) {
        alike.truth.push_back(r < 4 ? 1 : 0);
        alike.alternatives.push_back({{1, 7, 2}, {1, 7, 3}});
    }
    const auto guessed = eval::predict(*model, nullptr, nullptr, alike, {.batch = 1});
    REQUIRE(guessed);
    CHECK(guessed->auc == 0.5);
    CHECK(guessed->auc_in.high == Approx(0.5 + 1.959964 * 0.183995).epsilon(1e-5));
    CHECK(guessed->auc_in.low == Approx(1 - guessed->auc_in.high));
    among.truth.assign(12, 1);
    CHECK_FALSE(eval::predict(*model, nullptr, nullptr, among, {.batch = 5}));
}

TEST_CASE("records that a model can't tell apart count half") {
    const auto model = models::test::tiny_gpt2(3);
    eval::choices among{.column = "c", .clauses = {"x", "y"}, .truth = {0, 1, 1, 0}, .alternatives = {}};
    among.alternatives.assign(4, {{1, 7, 2}, {1, 7, 3}});
    const auto found = eval::predict(*model, nullptr, nullptr, among, {.batch = 8});
    REQUIRE(found);
    CHECK(found->auc == 0.5);
    CHECK(found->accuracy == 0.5);
    among.alternatives[1] = among.alternatives[2] = {{1, 7, 3}, {1, 7, 2}};  // the other way round: all told apart
    const double told_apart = eval::predict(*model, nullptr, nullptr, among, {.batch = 8})->auc;
    CHECK((told_apart == 0 || told_apart == 1));
}

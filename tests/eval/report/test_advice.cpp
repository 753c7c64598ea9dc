#include "eval/report/run_report.hpp"

#include "tests/catch.hpp"
#include "tests/eval/sample.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp::eval;

namespace {

/// A run that leaves nothing to wish for.
run_summary good_run() {
    auto out = sample_summary();
    out.how = ending::done;
    out.steps_done = out.steps_planned = 100;
    out.base_parameters = 2'000'000'000;
    out.units = 40'000;
    out.sample_rate = 0.0128;  // 512 units
    return out;
}

metrics_line look(std::int64_t step, double perplexity, double z) {
    metrics_line out;
    out.step = step;
    out.noise_multiplier = z;
    out.eval_perplexity = perplexity;
    return out;
}

std::vector<metrics_line> looks(double before, double after, double z = 1) {
    return {look(0, 50, 0), look(50, before, z), look(100, after, z)};
}

const std::string all_linear = R"({"lora": {"targets": ["all-linear"]}})",
                  q_and_v = R"({"lora": {"targets": ["q", "v"]}})";

}  // namespace

TEST_CASE("what would help most is said first, and nothing where nothing is known") {
    const auto flat = looks(2, 1.99);
    CHECK(has(advise_next(good_run(), flat, all_linear), "nothing"));
    auto run = good_run();
    CHECK(has(advise_next(run, looks(2, 1.8), all_linear), "more steps: the held-out loss still fell"));
    CHECK(has(advise_next(run, looks(2, 1.99, 20), all_linear), "more units"));
    CHECK(has(advise_next(run, looks(2, 1.8, 20), q_and_v), "all linear modules"));
    run.base_parameters = 300'000;
    CHECK(has(advise_next(run, looks(2, 1.8, 20), q_and_v), "a larger model: one of 0.3 million"));
    run.steps_done = 74;
    CHECK(has(advise_next(run, flat, q_and_v), "more steps: 74 are few"));
    run.how = ending::interrupted;
    CHECK(has(advise_next(run, flat, q_and_v), "--resume"));
    run = good_run();
    run.base_parameters = 135'000'000;
    CHECK(has(advise_next(run, flat, all_linear), "a larger model, as far as"));
}

TEST_CASE("a fall within the noise of looks is none, and whole tensors have no modules to add") {
    auto within = looks(2, 1.8);
    within[1].eval_perplexity_in = interval{1.7, 2.3};
    within[2].eval_perplexity_in = interval{1.6, 2.0};
    CHECK(has(advise_next(good_run(), within, all_linear), "nothing"));
    within[2].eval_perplexity_in = interval{1.6, 1.69};
    CHECK(has(advise_next(good_run(), within, all_linear), "more steps"));
    const auto flat = looks(2, 1.99);
    CHECK(has(advise_next(good_run(), flat, R"({"lora": {"targets": ["q", "v"]}, "train": {"parameters": ["norm"]}})"),
              "nothing"));
    CHECK(has(advise_next(good_run(), flat, R"({"lora": {"targets": ["q", "k", "v", "o", "gate", "up", "down"]}})"),
              "nothing"));
    for (const auto* broken : {"", "[]", "{", R"({"lora": 3})"})
        CHECK(has(advise_next(good_run(), flat, broken), "nothing"));
}

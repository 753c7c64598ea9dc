// Whole runs that the policy that ships steers.
#include "run/artifacts/metrics.hpp"
#include "tests/actors/small_runs.hpp"
#include "tests/catch.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::testing;

TEST_CASE("the policy that ships climbs out of a rate five times too low within a fifth of the run") {
    scratch_directory scratch;
    constexpr double chosen = 0.011;  // for width 64 and 100 steps
    const auto config = small({"data.path=synthetic:2000", "train.steps=100", "train.expected_batch_size=16",
                               "train.eval_every=100", "noise.insecure_reproducible=true", "rl.warmup=3",
                               "rl.state=prepared", "rl.policy=learned", "train.lr=" + std::to_string(chosen / 5)});
    run_quietly(config, scratch / "run");
    bool climbed = false;
    for (const auto& line : eval::read_metrics(scratch / "run/public/metrics.jsonl"))
        climbed |= line.step == 20 && line.steered && line.steered->lr_factor > 5;
    CHECK(climbed);
}

// Runs whose steps another optimizer than AdamW takes.
#include "bench/plain_loop.hpp"
#include "tests/actors/small_runs.hpp"
#include "tests/catch.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

TEST_CASE("every optimizer trains, spends the same budget, and resumes to the bits of an uninterrupted run") {
    std::vector<at::Tensor> ends;
    for (const auto& name : all_names<optimizer_kind>()) {
        INFO(name);
        scratch_directory scratch;
        const auto config = small({"noise.insecure_reproducible=true", "rl.state=schedule", "train.optimizer=" + name});
        const auto whole = run_quietly(config, scratch / "whole");
        {
            auto cut = create_run(config, scratch / "cut");
            bench::run_plain(cut, 7);  // a checkpoint at 5, two releases in the log
        }
        const auto summary = resume_quietly(scratch / "cut");
        CHECK(summary.how == eval::ending::done);
        CHECK(summary.epsilon_guaranteed == whole.epsilon_guaranteed);
        ends.push_back(saved_adapter(scratch / "whole"));
        CHECK(at::equal(saved_adapter(scratch / "cut"), ends.back()));
        CHECK(ends.back().isfinite().all().item<bool>());
    }
    for (std::size_t i = 1; i < ends.size(); ++i) CHECK_FALSE(at::equal(ends[i], ends[0]));
}

// Whole runs over several ranks: the same bits as alone, whatever is trained and however it ends.
#include <ATen/ATen.h>

#include "actors/follower.hpp"
#include "base/directories.hpp"
#include "base/files.hpp"
#include "bench/plain_loop.hpp"
#include "config/methods.hpp"
#include "models/architecture/model_config.hpp"
#include "privacy/spending/ledger.hpp"
#include "run/audit/audit.hpp"
#include "run/resolve.hpp"
#include "tests/actors/small_runs.hpp"
#include "tests/catch.hpp"
#include "tests/run/ranks/teams.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

namespace {

/// A run over so many ranks, each a thread; what each threw. With `resume`, one that exists goes on.
std::vector<std::string> run_over(std::size_t count, const config::run_config& config,
                                  const std::filesystem::path& directory, bool resume = false) {
    return as_ranks(count, [&](const std::shared_ptr<ranks::team>& team) {
        if (team->rank() > 0)
            return follow([&] { return join_run(config, directory, {}, *team); }, team,
                          eval::run_directory{directory}.log());
        launch([&] { return resume ? resume_run(directory, {}, team) : create_run(config, directory, {}, team); },
               {.name = "test", .monitor = {}, .display = {}, .on_plan = {}, .sign = {}});
    });
}

std::vector<std::string> quiet(std::size_t count) {
    return std::vector<std::string>(count);
}

/// Adapter, ledger and metrics of a run, as one text.
std::string made_by(const std::filesystem::path& run) {
    const eval::run_directory where{run};
    const bool whole = std::filesystem::exists(where.model());
    return read_file(whole ? where.model() / "model.safetensors" : where.adapter() / "adapter_model.safetensors") +
           read_file(where.ledger()) + read_file(where.metrics());
}

void same_over(const config::run_config& config, const std::vector<std::size_t>& counts) {
    scratch_directory scratch;
    run_quietly(config, scratch / "alone");
    for (const auto count : counts) {
        INFO(count << " ranks, " << config.method.name);
        const auto run = scratch / std::to_string(count);
        CHECK(run_over(count, config, run) == quiet(count));
        CHECK(made_by(run) == made_by(scratch / "alone"));
        for (const auto& entry : std::filesystem::directory_iterator(scratch.path()))
            CHECK_FALSE(staged_directory::is_one(entry.path()));
        CHECK_FALSE(std::filesystem::exists(eval::run_directory{run}.corpus()));
    }
}

const std::string reproducible = "noise.insecure_reproducible=true";

}  // namespace

TEST_CASE("over 2, 3 and 4 ranks a run is the same to the last bit as alone") {
    same_over(small({reproducible}), {2, 3, 4});
}

TEST_CASE("every method's run is the same over ranks", "[full]") {
    for (const auto& row : config::methods()) {
        if (row.name == "rldp") continue;
        same_over(small({reproducible, "method.name=" + row.name, "train.steps=6"}), {3});
    }
}

TEST_CASE(
    "so are runs with patients as units, every allocation, padding, gradient canaries, bfloat16 and whole parameters",
    "[full]") {
    for (const auto& more : std::vector<std::vector<std::string>>{
             {R"(privacy.unit={"group":"patient_nbr"})", "privacy.max_records_per_unit=2"},
             {"noise.allocation=uniform"},
             {"noise.allocation=min_variance"},
             {"privacy.pad_batches=true"},
             {"audit.gradient_canaries=20"},
             {"model.dtype=bfloat16", "train.steps=4"},
             {R"(train.parameters=["all"])", "train.lr=0.002", "train.steps=6"},
             {"lora.dropout=0.2", "train.micro_batch=2"}}) {
        auto set = more;
        set.push_back(reproducible);
        INFO(more.front());
        same_over(small(set), {3});
    }
}

TEST_CASE("a prepared policy's run, which probes and measures, is the same over ranks") {
    scratch_directory scratch;
    same_over(small_prepared(scratch / "policy", true, {reproducible}), {2});
}

TEST_CASE("ranks go on from what public records taught the first of them") {
    same_over(small({reproducible, "public.path=synthetic:60", "public.steps=3"}), {2});
}

TEST_CASE("a run that stopped goes on over another number of ranks, to the same bits") {
    scratch_directory scratch;
    const auto config = small({reproducible});
    run_quietly(config, scratch / "alone");
    {
        auto opened = create_run(config, scratch / "cut");
        bench::run_plain(opened, 7);
    }
    CHECK(run_over(3, config, scratch / "cut", true) == quiet(3));
    CHECK(at::equal(saved_adapter(scratch / "cut"), saved_adapter(scratch / "alone")));
    CHECK(privacy::read_ledger(scratch / "cut/public/ledger.jsonl").charges.size() == 12);
}

TEST_CASE("ranks that share the base make the run of one that holds all of it, to the same bits") {
    // Two units a step, on average: of three ranks at least one mostly has none.
    for (const auto& more : std::vector<std::vector<std::string>>{
             {}, {"train.expected_batch_size=2", "model.quantize=int8", "model.checkpoint_activations=true"}}) {
        auto set = more;
        set.push_back(reproducible);
        scratch_directory scratch;
        run_quietly(small(set), scratch / "alone");
        set.emplace_back("model.shard=true");
        for (const std::size_t count : {2, 3}) {
            CAPTURE(count, more.size());
            CHECK(run_over(count, small(set), scratch / std::to_string(count)) == quiet(count));
            CHECK(made_by(scratch / std::to_string(count)) == made_by(scratch / "alone"));
        }
    }
}

TEST_CASE("ranks share a base that one of them could not hold, where that is left open") {
    auto model = models::read_model_config("config/tiny-gpt2");
    model.layers = 12;
    // What each of so many chose, where so many of them hold the whole base.
    const auto choose = [&](std::size_t count, std::size_t holding, const std::vector<std::string>& set = {}) {
        std::vector<std::string> out(count);
        CHECK(as_ranks(count, [&](const std::shared_ptr<ranks::team>& team) {
                  auto asked = small(set);
                  const auto made = choose_sharing(asked, model, *team, [&](std::int64_t here) {
                      return here == static_cast<std::int64_t>(count) && team->rank() < holding;
                  });
                  out[team->rank()] = (asked.model.shard ? (*asked.model.shard ? "shares" : "keeps") : "open") +
                                      (made ? ": " + made->reason : std::string());
              }) == quiet(count));
        return out;
    };
    CHECK(choose(2, 2) == std::vector<std::string>(2, "open"));
    CHECK(choose(2, 1) ==
          std::vector<std::string>(2,
                                   "shares: rank 1 could not hold the whole base and leave a quarter of its memory "
                                   "free"));
    CHECK(choose(2, 1, {"model.shard=false"}) == std::vector<std::string>(2, "keeps"));
    model.layers = 6;
    CHECK(choose(3, 0) == std::vector<std::string>(3, "open"));  // two layers of a rank's own and four borrowed are all
    // A run that goes on has its choice in rank 0's configuration; what a rank alone was given has no part in it.
    std::vector<std::string> shared(2);  // Catch's own assertions are for one thread
    CHECK(as_ranks(2, [&](const std::shared_ptr<ranks::team>& team) {
              auto asked = team->rank() == 0 ? small({"model.shard=true"}) : small();
              const auto made = choose_sharing(asked, model, *team, [](std::int64_t) { return true; });
              shared[team->rank()] = made ? made->reason : asked.model.shares() ? "shares" : "keeps";
          }) == quiet(2));
    CHECK(shared == std::vector<std::string>(2, "shares"));
}

TEST_CASE("a run whose ranks share the base stops and goes on over another number of them, and alone") {
    scratch_directory scratch;
    const auto config = small({reproducible, "model.shard=true"});
    run_quietly(config, scratch / "alone");
    for (const std::size_t count : {2, 1}) {
        const auto run = scratch / std::to_string(count);
        {
            auto opened = create_run(config, run);
            bench::run_plain(opened, 7);
        }
        if (count == 1)
            resume_quietly(run);
        else
            CHECK(run_over(count, config, run, true) == quiet(count));
        CHECK(at::equal(saved_adapter(run), saved_adapter(scratch / "alone")));
    }
}

TEST_CASE("an audit of a run over ranks finds its canaries, resumed or not", "[full]") {
    scratch_directory scratch;
    // Fresh noise, as users have it, and so little that who was in shows: a resumed run has other streams, the same
    // canaries.
    const auto config = small({"audit.gradient_canaries=400", "privacy.epsilon=2000", "train.expected_batch_size=90",
                               "train.micro_batch=32", "train.steps=8", "train.eval_every=8"});
    CHECK(run_over(2, config, scratch / "whole") == quiet(2));
    {
        auto opened = create_run(config, scratch / "cut");
        bench::run_plain(opened, 2);
    }
    CHECK(run_over(2, config, scratch / "cut", true) == quiet(2));
    for (const char* name : {"whole", "cut"}) {
        auto run = open_audited(scratch / name, false);
        read_adapter(run);
        const auto report = audit(run, {});
        REQUIRE(report.bounds.size() == 1);
        const auto& bound = report.bounds.front();
        INFO(name << ": " << bound.seen.correct << " of " << bound.seen.guesses << " guessed right");
        CHECK(bound.epsilon > 0.1);
    }
}

TEST_CASE("ranks with another table, configuration or semantics are refused before anything is made") {
    scratch_directory scratch;
    const auto run_mixed = [&](const config::run_config& first, const config::run_config& second) {
        return as_ranks(2, [&](const std::shared_ptr<ranks::team>& team) {
            if (team->rank() > 0)
                return follow([&] { return join_run(second, scratch / "run", {}, *team); }, team,
                              scratch / "absent/log");
            launch([&] { return create_run(first, scratch / "run", {}, team); },
                   {.name = "test", .monitor = {}, .display = {}, .on_plan = {}, .sign = {}});
        });
    };
    const auto table = run_mixed(small({"data.path=synthetic:400@1"}), small({"data.path=synthetic:400@2"}));
    CHECK(table == std::vector<std::string>(2, "rank 1 has another table than rank 0; give every rank the same"));
    const auto keys = run_mixed(small(), small({"train.lr=0.0123"}));
    CHECK(keys ==
          std::vector<std::string>(2, "rank 1 has another configuration than rank 0; give every rank the same"));
    const auto sharing = run_mixed(small(), small({"model.shard=true"}));
    CHECK(sharing == std::vector<std::string>(
                         2, "rank 1 has another setting of model.shard than rank 0; give every rank the same"));
    const auto whole = run_mixed(small(), small({"train.parameters=[\"bias\"]", "train.lr=0.01"}));
    CHECK(whole == std::vector<std::string>(
                       2, "rank 1 has another setting of train.parameters than rank 0; give every rank the same"));
    const auto published = small({"privacy.semantics=as_published", "privacy.acknowledge_no_guarantee=true"});
    CHECK(has(run_mixed(published, published).front(), "run it in one process"));
    CHECK_FALSE(std::filesystem::exists(scratch / "run"));
}

// `rldp run --workers`, one of whose ranks is killed with SIGKILL at a random moment, again and again.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <random>
#include <sstream>

#include "base/files.hpp"
#include "tests/catch.hpp"
#include "tests/kill/child.hpp"
#include "tests/kill/witness.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::testing;
using std::chrono::milliseconds;

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t steps_of_ranks = 120;

std::vector<std::string> start_ranks(const fs::path& run, std::size_t workers) {
    std::vector<std::string> out = {"run",
                                    "config/demo.json",
                                    "--quiet",
                                    "--json",
                                    "--out",
                                    run.string(),
                                    "--resume-or-start",
                                    "--restarts",
                                    "0",
                                    "--workers",
                                    std::to_string(workers)};
    for (const auto& set : {std::string("data.path=synthetic:300"), std::string("data.max_tokens=24"),
                            fmt::format("train.steps={}", steps_of_ranks), std::string("train.expected_batch_size=8"),
                            std::string("train.micro_batch=4"), std::string("train.eval_records=2"),
                            std::string("rl.interval=4"), std::string("rl.warmup=4"), std::string("train.eval_every=7"),
                            std::string("noise.insecure_reproducible=true")}) {
        out.emplace_back("--set");
        out.push_back(set);
    }
    return out;
}

std::string adapter_in(const fs::path& run) {
    return read_file(run / "public/adapter/adapter_model.safetensors");
}

/// The processes that a process has started: its ranks.
std::vector<pid_t> list_children(pid_t parent) {
    std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", parent));
    std::vector<pid_t> out;
    for (pid_t id = 0; file >> id;) out.push_back(id);
    return out;
}

}  // namespace

TEST_CASE(
    "whichever rank is killed, the others end soon, no charge is lost, and any number of ranks goes on to the same "
    "bits",
    "[full]") {
    const auto kills = setting("RLDP_RANK_KILLS", 6);
    const auto seed =
        static_cast<std::uint64_t>(setting("RLDP_KILL_SEED", static_cast<std::int64_t>(std::random_device{}())));
    INFO("RLDP_KILL_SEED=" << seed);
    std::mt19937_64 random(seed);
    scratch_directory scratch;
    std::int64_t killed = 0, first_ranks = 0, runs = 0, compared = 0;
    std::size_t lost = 0;
    std::vector<double> waits;
    const auto finish = [&](const fs::path& run, std::size_t workers) {
        child process(start_ranks(run, workers), scratch / "output");
        INFO(read_file(scratch / "output"));
        REQUIRE(process.wait() == 0);
    };
    while (killed < kills) {
        const auto run = scratch / fmt::format("run-{}", runs++);
        witness seen(run);
        for (int here = 0; here < 5 && killed < kills && !(seen.begun() && seen.finished()); ++here) {
            const std::size_t workers = 2 + random() % 3;
            child process(start_ranks(run, workers), scratch / "output");
            // Until it computes, or has done so for a while: start-up is hit, too.
            const auto before = seen.begun() ? seen.charges() : 0;
            const bool early = random() % 4 == 0;
            const auto ledger = eval::run_directory{run}.ledger();
            std::error_code absent;
            const auto size = [&] { return fs::exists(ledger, absent) ? fs::file_size(ledger, absent) : 0; };
            const auto was = size();
            bool over = false;
            while (!over && !early && size() == was) over = process.ends_within(milliseconds(5));
            if (!over) over = process.ends_within(milliseconds(random() % (early ? 2500 : 400)));
            const auto ranks = list_children(process.id());
            if (over || ranks.size() != workers) {
                const int status = process.wait();
                INFO(read_file(scratch / "output"));
                CHECK(status == 0);
                if (seen.begun()) seen.look_at_the_dead();
                continue;
            }
            const auto victim = ranks[random() % workers];
            first_ranks += victim == *std::min_element(ranks.begin(), ranks.end());
            const auto began = std::chrono::steady_clock::now();
            REQUIRE(::kill(victim, SIGKILL) == 0);
            const int status = process.wait();
            waits.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
            INFO(read_file(scratch / "output"));
            CHECK((status == 1 || status == 0));
            ++killed;
            for (const auto rank : ranks) CHECK(::kill(rank, 0) != 0);
            if (!seen.begun()) continue;
            seen.look_at_the_dead();
            CHECK(seen.charges() >= before);
        }
        if (!seen.begun()) continue;
        // What is left goes on alone and over three ranks, to the same end.
        const auto alone = scratch / fmt::format("alone-{}", runs);
        const bool open = !seen.finished();
        if (open) {
            fs::copy(run, alone, fs::copy_options::recursive);
            finish(alone, 1);
        }
        if (open) finish(run, 3);
        seen.look();
        CHECK(seen.finished());
        CHECK(seen.charges() == steps_of_ranks);
        lost += seen.lost().size();
        if (open) {
            CHECK(adapter_in(run) == adapter_in(alone));
            ++compared;
        }
    }
    CHECK((compared > 0 || kills < 6));
    std::sort(waits.begin(), waits.end());
    fmt::print(
        "RLDP_KILL_SEED={}: {} kills of a rank ({} of rank 0) in {} runs; {} steps lost; {} went on alone and over "
        "three "
        "ranks to the same bits; all other ranks were gone after {:.2f} s in the median, {:.2f} s at most\n",
        seed, killed, first_ranks, runs, lost, compared, waits[waits.size() / 2], waits.back());
}

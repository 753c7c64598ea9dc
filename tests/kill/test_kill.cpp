// `rldp run`, killed with SIGKILL again and again and resumed each time.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/files.hpp"
#include "tests/actors/fixtures.hpp"
#include "tests/catch.hpp"
#include "tests/kill/child.hpp"
#include "tests/kill/witness.hpp"

using namespace rldp;
using namespace rldp::testing;
using std::chrono::microseconds;

namespace {

using paths = std::filesystem::path;
using generator = std::mt19937_64;

std::uint64_t below(generator& random, std::uint64_t bound) {
    return random() % bound;
}

constexpr std::int64_t steps = 24;

/// A short run of the demo's model: with each policy; with checkpoints every 7 steps, or none before the end, so that
/// every release stays in the log; with a key from a seed or from the system. Gentle ones are killed between steps
/// only.
struct scenario {
    std::string policy;
    bool gentle, checkpoints, reproducible;

    explicit scenario(std::int64_t number)
        : policy(std::vector<std::string>{"fixed", "deck", "filter"}[static_cast<std::size_t>(number % 3)]),
          gentle(number % 4 == 1),
          checkpoints(number / 2 % 2 == 0),
          reproducible(gentle || number % 4 == 0) {}

    std::string name() const {
        return fmt::format("{}-{}-{}", policy, checkpoints ? "checkpoints" : "log", reproducible ? "seeded" : "secret");
    }
    std::vector<std::string> start(const paths& directory) const {
        std::vector<std::string> out = {"run", "config/demo.json", "--quiet", "--json", "--out", directory.string()};
        for (const auto& set : {std::string("data.path=synthetic:300"), std::string("data.max_tokens=24"),
                                fmt::format("train.steps={}", steps), std::string("train.expected_batch_size=8"),
                                std::string("train.eval_records=2"), std::string("rl.interval=4"),
                                std::string("rl.warmup=4"), fmt::format("train.eval_every={}", checkpoints ? 7 : 1000),
                                "noise.policy=" + policy, fmt::format("noise.insecure_reproducible={}", reproducible),
                                // In several bands a run that went on has other noise than one that was never cut.
                                std::string(reproducible ? "noise.bands=1" : "noise.bands=null")}) {
            out.emplace_back("--set");
            out.push_back(set);
        }
        return out;
    }
};

/// An uninterrupted run: how long it takes, and what it ends with.
struct reference {
    microseconds time{};
    std::string adapter;
    double epsilon_guaranteed = 0;
    std::map<std::int64_t, std::string> metrics;
};

/// The run log's lines by step.
std::map<std::int64_t, std::string> list_metrics(const paths& run) {
    std::map<std::int64_t, std::string> out;
    for (const auto& line : eval::read_metrics(run / "public/metrics.jsonl")) out[line.step] = eval::to_json(line);
    return out;
}

std::string read_test_adapter(const paths& run) {
    return read_file(run / "public/adapter/adapter_model.safetensors");
}

struct tally {
    std::int64_t kills = 0, between = 0, torn = 0, runs = 0, identical = 0;
    std::size_t lost = 0, lost_looks = 0;
};

class killer {
  public:
    killer(std::uint64_t seed, std::int64_t kills) : random_(seed), kills_(kills) {}

    tally work() {
        while (count_.kills < kills_) one_run(scenario(count_.runs++));
        return count_;
    }

  private:
    enum class moment { timer, charge, release, between };

    const reference& find_reference(const scenario& how);
    void one_run(const scenario& how);
    bool interrupt(child& process, const paths& run, witness& seen, moment when, microseconds usual);
    bool await_growth(child& process, const paths& file);
    bool kill_between(child& process, const paths& run, witness& seen);
    void compare(const scenario& how, const paths& run, const witness& seen);

    generator random_;
    std::int64_t kills_;
    tally count_;
    scratch_directory scratch_;
    std::map<std::string, reference> references_;
};

const reference& killer::find_reference(const scenario& how) {
    auto& known = references_[how.name()];
    if (!known.adapter.empty()) return known;
    const auto run = scratch_ / ("whole-" + how.name());
    const auto began = std::chrono::steady_clock::now();
    child process(how.start(run), scratch_ / "output");
    REQUIRE(process.wait() == 0);
    known.time = std::chrono::duration_cast<microseconds>(std::chrono::steady_clock::now() - began);
    witness seen(run);
    seen.look();
    REQUIRE(seen.finished());
    known.adapter = read_test_adapter(run);
    known.epsilon_guaranteed = seen.epsilon_guaranteed();
    known.metrics = list_metrics(run);
    REQUIRE(known.metrics.size() == steps + 1);
    return known;
}

/// Waits for a random number of further appends to the file; false if the process ends first.
bool killer::await_growth(child& process, const paths& file) {
    const auto size = [&] {
        std::error_code absent;
        const auto bytes = std::filesystem::file_size(file, absent);
        return absent ? 0 : bytes;
    };
    auto left = 1 + below(random_, 6);
    for (auto before = size(); left > 0;) {
        if (process.ends_within(microseconds(200))) return false;
        const auto now = size();
        if (now > before) --left;
        before = now;
    }
    return true;
}

/// Halts the process after a release, and kills it if no charge waits for its release there; else tries again later.
bool killer::kill_between(child& process, const paths& run, witness& seen) {
    const auto log = eval::run_directory{run}.releases();
    while (await_growth(process, log) && process.stop()) {
        seen.look();
        if (seen.finished()) break;
        if (!seen.pending()) {
            ++count_.between;
            return process.kill();
        }
        process.go_on();
    }
    return false;
}

/// Kills the process at a random moment; false if it ends first.
bool killer::interrupt(child& process, const paths& run, witness& seen, moment when, microseconds usual) {
    const eval::run_directory where{run};
    switch (when) {
        case moment::timer:
            return !process.ends_within(microseconds(below(random_, static_cast<std::uint64_t>(usual.count())))) &&
                   process.kill();
        case moment::charge:
            return await_growth(process, where.ledger()) && process.kill();
        case moment::release:
            return await_growth(process, where.releases()) && process.kill();
        case moment::between:
            return kill_between(process, run, seen);
    }
    return false;
}

void killer::one_run(const scenario& how) {
    const auto& whole = find_reference(how);
    const auto name = fmt::format("run-{}-{}", count_.runs, how.name());
    INFO(name);
    const auto run = scratch_ / name;
    witness seen(run);
    for (int here = 0;; ++here) {
        const bool resumed = seen.begun();
        const auto charged = seen.charges();
        child process(
            resumed ? std::vector<std::string>{"run", "--quiet", "--json", "--resume", run.string()} : how.start(run),
            scratch_ / "output");
        // Six kills at most, then it may finish.
        const auto when = how.gentle ? moment::between : static_cast<moment>(below(random_, 4));
        const bool killed = here < 6 && count_.kills < kills_ && interrupt(process, run, seen, when, whole.time);
        if (killed) ++count_.kills;
        INFO(read_file(scratch_ / "output"));
        if (!killed) REQUIRE(process.wait() == 0);
        if (!seen.begun()) continue;
        seen.look_at_the_dead();
        CHECK(seen.charges() >= charged);
        if (seen.finished()) break;
        if (seen.just_lost() && below(random_, 3) == 0) {
            seen.tear(1 + below(random_, 100));
            ++count_.torn;
        }
    }
    compare(how, run, seen);
    std::filesystem::remove_all(run);
}

/// The finished run against the uninterrupted one.
void killer::compare(const scenario& how, const paths& run, const witness& seen) {
    const auto& whole = references_.at(how.name());
    const auto summary = nlohmann::json::parse(read_file(run / "public/summary.json"));
    CHECK(summary.at("status") == "done");
    CHECK(summary.at("steps_done") == steps);
    CHECK(summary.at("guaranteed_epsilon").get<double>() == whole.epsilon_guaranteed);
    CHECK(seen.epsilon_guaranteed() == whole.epsilon_guaranteed);
    CHECK(seen.charges() == steps);
    CHECK_FALSE(read_test_adapter(run).empty());
    if (how.gentle) CHECK(seen.lost().size() + seen.lost_looks().size() == 0);
    count_.lost += seen.lost().size();
    count_.lost_looks += seen.lost_looks().size();
    if (!how.reproducible) return;
    // Up to the first lost step or look nothing may differ, and without one nothing at all.
    auto first_lost = seen.lost().empty() ? steps + 1 : static_cast<std::int64_t>(*seen.lost().begin());
    if (!seen.lost_looks().empty()) first_lost = std::min(first_lost, *seen.lost_looks().begin());
    const auto metrics = list_metrics(run);
    for (const auto& [step, line] : whole.metrics) {
        if (step >= first_lost) break;
        INFO("step " << step);
        REQUIRE(metrics.count(step) == 1);
        CHECK(metrics.at(step) == line);
    }
    if (!seen.lost().empty()) return;
    CHECK(read_test_adapter(run) == whole.adapter);  // a look changes nothing that is trained
    ++count_.identical;
}

}  // namespace

TEST_CASE("a run that is killed at random moments never under-counts, never repeats a stream, and finishes", "[full]") {
    const auto kills = setting("RLDP_KILLS", 20);
    const auto seed =
        static_cast<std::uint64_t>(setting("RLDP_KILL_SEED", static_cast<std::int64_t>(std::random_device{}())));
    INFO("RLDP_KILL_SEED=" << seed);
    const auto began = std::chrono::steady_clock::now();
    const auto count = killer(seed, kills).work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    CHECK((count.identical > 0 || count.runs < 2));
    fmt::print(
        "RLDP_KILL_SEED={}: {} kills in {} runs, {} of them between steps; {} steps and {} looks lost, {} torn "
        "charges; {} seeded runs that lost no step ended bit-identical; {:.1f} s\n",
        seed, count.kills, count.runs, count.between, count.lost, count.lost_looks, count.torn, count.identical,
        took.count());
}

// Faults of what surrounds a process: limits, streams, other processes.
#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <thread>

#include "tests/faults/classes.hpp"
#include "tests/support/sanitized.hpp"

namespace rldp::testing {

namespace {

constexpr std::uint64_t mib = 1 << 20;

/// One of them does it, the other is refused: it comes while the first is at work, or when it has done all.
void judge_pair(scene& stage, const answer& one, const answer& other) {
    for (const auto* said : {&one, &other}) {
        const auto wrong = complaint(*said);
        if (!wrong.empty()) stage.seen().object("one of two: " + wrong);
    }
    if (one.status == 0 && other.status == 0) stage.seen().object("two processes both ran one directory");
    if (one.status != 0 && other.status != 0)
        stage.seen().object(fmt::format("neither of two processes ran: {} | {}", error_line(one), error_line(other)));
}

/// UBSan asks the kernel, through a pipe, whether an object's memory can be read: where no descriptor is left, any
/// object is a foreign one to it.
std::string few_descriptors(const path& sources) {
    const char* given = std::getenv("UBSAN_OPTIONS");
    return fmt::format("{}:suppressions={}", given ? given : "",
                       (sources / "tests/faults/few_descriptors.supp").string());
}

}  // namespace

verdict limited(trial& t) {
    auto stage = t.stage();
    disturbance what;
    switch (below(t.random, sanitized ? 2 : 3)) {
        case 0:
            // UBSan itself needs some to know its own options.
            what.limits[RLIMIT_NOFILE] = (sanitized ? 16 : 4) + below(t.random, 60);
            if (sanitized) what.environment["UBSAN_OPTIONS"] = few_descriptors(t.on.sources);
            break;
        case 1:
            what.limits[RLIMIT_FSIZE] = below(t.random, 400'000);
            break;
        default:
            what.limits[RLIMIT_AS] = (200 + below(t.random, 6000)) * mib;
    }
    if (below(t.random, 2) == 0) stage.from_interrupted();
    stage.go(stage.next(), what);
    stage.finish();
    return stage.judged();
}

verdict short_of_memory(trial& t) {
    auto stage = t.stage();
    if (below(t.random, 2) == 0) stage.from_interrupted();
    stage.go(stage.next(), {.memory = (20 + below(t.random, sanitized ? 2000 : 200)) * mib});
    stage.finish();
    return stage.judged();
}

verdict unsteady_clock(trial& t) {
    auto stage = t.stage();
    const auto jumps = [&] {
        return disturbance{.environment = {{"RLDP_FAULT_CLOCK", std::to_string(1 + below(t.random, 1'000'000))}}};
    };
    auto first = jumps();
    if (below(t.random, 2) == 0) first.kill_after = t.moment(stage.whole());
    stage.go(stage.next(), first);
    if (!stage.seen().finished()) stage.go(stage.next(), jumps());
    if (!stage.seen().finished()) stage.seen().object("a clock that jumps cost the run");
    stage.finish();
    return stage.judged();
}

verdict deaf_streams(trial& t) {
    auto stage = t.stage();
    const std::vector<stream> deaf{stream::closed, stream::full_device, stream::broken_pipe};
    disturbance what;
    const auto which = below(t.random, 3);
    if (which != 0) what.out = one_of(deaf, t.random);
    if (which != 1) what.err = one_of(deaf, t.random);
    if (below(t.random, 2) == 0) stage.from_interrupted();
    auto words = stage.next();
    if (below(t.random, 2) == 0) std::erase(words, "--quiet");
    if (below(t.random, 2) == 0) words.emplace_back("--json");
    stage.go(words, what);
    if (!stage.seen().finished()) stage.seen().object("a stream that can't be written cost the run");
    stage.finish();
    return stage.judged();
}

verdict two_processes(trial& t) {
    auto stage = t.stage();
    if (below(t.random, 2) == 0) stage.from_interrupted();
    // The second is no part of the journal: two writers have no order.
    const auto words = stage.next();
    auto second = std::make_unique<process>(t.on.forked, command{words, {{"OMP_NUM_THREADS", "1"}}},
                                            stage.where().aside() / "second");
    if (below(t.random, 2) == 0) second->ends_within(t.moment(stage.whole()));
    process first(t.on.forked, {words, {{"OMP_NUM_THREADS", "1"}}}, stage.where().aside() / "first");
    const auto said = first.wait(), also = second->wait();
    judge_pair(stage, said, also);
    stage.seen().take_as_it_is();
    stage.finish();
    return stage.judged();
}

namespace {

std::vector<std::string> grid(const ground& on, const path& out) {
    const variant tiny{"grid", {}, false, 6};
    auto words = tiny.start(on.sources, out);
    words.front() = "compare";
    words.insert(words.end(), {"--methods", "static", "--epsilons", "8", "--seeds", "0,1", "--jobs", "2"});
    return words;
}

void judge_grid(scene& stage, const path& out) {
    auto& seen = stage.seen();
    if (!std::filesystem::exists(out / "compare.json")) seen.object("compare.json is missing");
    if (!std::filesystem::exists(out / "cells")) return seen.object("the cells are missing");
    int cells = 0;
    for (const auto& entry : std::filesystem::directory_iterator(out / "cells")) {
        const auto name = entry.path().filename().string();
        if (name.find(".partial-") != std::string::npos) seen.object("left over: a cell's .partial-…");
        if (!std::filesystem::exists(entry.path() / "public/ledger.jsonl")) continue;
        ++cells;
        for (const auto* secret : {"run.key", "releases.log", "checkpoint.safetensors", "certificate.json"})
            if (std::filesystem::exists(entry.path() / "trusted" / secret))
                seen.object(fmt::format("left over in a cell: {}", secret));
        if (stage.go({"verify", entry.path().string()}).status != 0) seen.object("a cell's ledger is refused");
        const auto steps = read_steps(read_content(entry.path() / "public/metrics.jsonl"));
        for (std::int64_t step = 1; step <= 6; ++step)
            if (steps.count(step) == 0 || !steps.at(step).step) seen.object(fmt::format("a cell lost step {}", step));
    }
    if (cells != 2) seen.object(fmt::format("{} cells of 2", cells));
}

}  // namespace

verdict grid_killed(trial& t) {
    auto stage = t.stage();
    const auto out = stage.where().below() / "grid";
    const auto words = grid(t.on, out);
    if (below(t.random, 2) == 0) {  // every cell, while it ends
        auto environment = t.on.watched(
            stage.where(), {},
            t.point_of_the_end(stage.whole().journal).order(below(t.random, 2) ? "die-before" : "die-after"));
        environment.erase("RLDP_FAULT_JOURNAL");
        process running(executed(t.on.program), {words, environment}, stage.where().aside() / "grid");
        // Or the parent, where it comes to such a call of its own.
        const auto wrong = complaint(running.wait(), {.killed = true});
        if (!wrong.empty()) stage.seen().object("compare: " + wrong);
    } else {
        process running(executed(t.on.program), {words}, stage.where().aside() / "grid");
        running.ends_within(2 * t.moment(stage.whole()));
        const auto workers = running.children();
        const bool parent = workers.empty() || below(t.random, 2) == 0;
        if (parent)
            running.signal(SIGKILL);
        else
            ::kill(one_of(workers, t.random), SIGKILL);
        const auto wrong = complaint(running.wait(), {.killed = parent});
        if (!wrong.empty()) stage.seen().object("compare: " + wrong);
    }
    // What the parent left behind may still be saving: then the same command says so, and is called once more. Its runs
    // are several, and in no journal.
    answer said;
    for (int calls = 0; calls < 4 && (calls == 0 || said.status != 0); ++calls)
        said = process(executed(t.on.program), {words}, stage.where().aside() / std::to_string(calls)).wait();
    if (said.status != 0) stage.seen().object("compare can't go on: " + error_line(said));
    judge_grid(stage, out);
    auto judged = stage.judged();
    if (judged.outcome != "FAILED") judged.outcome = "resumed";
    return judged;
}

verdict audit_beside(trial& t) {
    auto stage = t.stage();
    stage.from_interrupted();
    process audit(t.on.forked,
                  {{"audit", "--during-run", "--quiet", stage.where().run().string()}, {{"OMP_NUM_THREADS", "1"}}},
                  stage.where().aside() / "audit");
    stage.go(stage.next(), {.kill_after = t.moment(stage.whole())});
    stage.finish();
    const auto said = audit.wait();
    const auto wrong = complaint(said);
    if (!wrong.empty()) stage.seen().object("audit: " + wrong);
    if (said.status != 0) stage.seen().object("the audit didn't go on: " + error_line(said));
    return stage.judged();
}

}  // namespace rldp::testing

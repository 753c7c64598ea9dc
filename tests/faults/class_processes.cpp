// Faults that hit the process: kills, stops, calls that fail.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tests/faults/classes.hpp"

namespace rldp::testing {

namespace {

/// From nothing, or on from a run that was killed in its middle; the journal of what comes now when nothing disturbs
/// it.
const std::vector<event>& set_up(scene& stage, generator& random) {
    if (below(random, 3) > 0) return stage.whole().journal;
    stage.from_interrupted();
    return stage.whole().resumed;
}

const std::vector<std::string>& list_errors(const std::string& kind) {
    static const std::map<std::string, std::vector<std::string>> all{
        {"write", {"EIO", "ENOSPC", "EDQUOT", "EINTR", "short"}},
        {"fsync", {"EIO", "ENOSPC", "EDQUOT"}},
        {"rename", {"EIO", "ENOSPC", "EDQUOT", "EACCES"}},
        {"mkdir", {"EIO", "ENOSPC", "EDQUOT", "EACCES"}},
        {"truncate", {"EIO", "EINTR"}},
        {"open", {"EIO", "ENOSPC", "EDQUOT", "EINTR", "EMFILE", "EACCES"}},
        {"unlink", {"EIO", "EACCES"}},
        {"close", {"EIO", "ENOSPC", "EDQUOT", "EINTR"}}};
    return all.at(kind);
}

bool fault_in(const std::vector<event>& journal) {
    return std::any_of(journal.begin(), journal.end(), [](const event& what) { return what.kind == "fault"; });
}

/// What is lost with such a call must be heard of. EINTR is no loss where the call is made again.
bool must_be_heard(const std::string& kind, const std::string& error) {
    return error != "EINTR" && (kind == "write" || kind == "fsync" || kind == "rename" || kind == "truncate");
}

}  // namespace

verdict killed_at_a_time(trial& t) {
    auto stage = t.stage();
    for (auto kills = 1 + below(t.random, 3); kills > 0; --kills)
        if (stage.go(stage.next(), {.kill_after = t.moment(stage.whole())}).status == 0 || stage.seen().finished())
            break;
    stage.finish();
    return stage.judged();
}

verdict killed_at_a_point(trial& t) {
    auto stage = t.stage();
    const auto& journal = set_up(stage, t.random);
    const auto point = point_at(journal, below(t.random, journal.size()));
    stage.go(stage.next(), {.orders = point.order(below(t.random, 2) ? "die-before" : "die-after")});
    stage.finish();
    return stage.judged();
}

verdict killed_at_the_end(trial& t) {
    auto stage = t.stage();
    const auto& journal = set_up(stage, t.random);
    // A resume may be cut there, too.
    for (auto kills = 1 + below(t.random, 2); kills > 0 && !stage.seen().over(); --kills)
        stage.go(stage.next(),
                 {.orders = t.point_of_the_end(journal).order(below(t.random, 2) ? "die-before" : "die-after")});
    stage.finish();
    return stage.judged();
}

verdict failing_call(trial& t) {
    auto stage = t.stage();
    const auto& journal = set_up(stage, t.random);
    auto point = point_at(journal, below(t.random, journal.size()));
    const auto error = one_of(list_errors(point.kind), t.random);
    // And every one like it. (No kernel interrupts a call for ever.)
    if (error != "EINTR" && below(t.random, 8) == 0) point.number = 0;
    const auto said = stage.go(stage.next(), {.orders = point.order(error)});
    if (said.status == 0 && fault_in(stage.journal()) && must_be_heard(point.kind, error))
        stage.seen().object(fmt::format("{} of {} {}: the run went on", error, point.kind, point.where));
    stage.finish();
    return stage.judged();
}

verdict stopped_for_a_while(trial& t) {
    auto stage = t.stage();
    constexpr std::uint64_t longest = 3'000'000;
    const auto said = stage.go(
        stage.next(), {.stop_after = t.moment(stage.whole()), .stopped = microseconds(below(t.random, longest))});
    if (said.status != 0) stage.seen().object("being stopped for a while ended it: " + error_line(said));
    stage.finish();
    return stage.judged();
}

}  // namespace rldp::testing

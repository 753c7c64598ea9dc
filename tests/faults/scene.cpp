#include "tests/faults/scene.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>
#include <thread>

#include "tests/faults/memory_group.hpp"

namespace rldp::testing {

scene::scene(const ground& on, const reference& whole, const path& root)
    : on_(on), whole_(whole), where_{root}, seen_(where_) {
    std::filesystem::create_directories(where_.below());
    std::filesystem::create_directories(where_.aside());
}

void scene::from_interrupted() {
    std::filesystem::remove(where_.below());
    copy_tree(yard{whole_.interrupted}.below(), where_.below());
    seen_.saw(whole_.before);
    seen_.look();
    runs_ = 1;
}

answer scene::go(const std::vector<std::string>& arguments, const disturbance& what) {
    const auto name = std::to_string(commands_++);
    auto environment = on_.watched(where_, where_.root / ("journal-" + name), what.orders);
    for (const auto& [key, value] : what.environment) environment[key] = value;
    std::optional<memory_group> group;
    if (what.memory) group.emplace(where_.root.filename().string(), *what.memory);
    // Limits are there for the loader of programs, too; and a forked process has its memory already.
    const bool forks = what.limits.empty() && !group;
    process running(forks ? on_.forked : executed(on_.program),
                    {arguments, environment, what.limits, what.out, what.err, group ? group->door() : path()},
                    where_.aside() / name);
    if (what.kill_after && !running.ends_within(*what.kill_after)) running.signal(SIGKILL);
    if (what.stop_after && !running.ends_within(*what.stop_after)) {
        running.signal(SIGSTOP);
        std::this_thread::sleep_for(what.stopped);  // real time is what this fault is about
        running.signal(SIGCONT);
    }
    const auto said = running.wait();
    journal_ = read_journal(where_.root / ("journal-" + name));
    if (arguments.front() == "run") {
        ++runs_;
        done_ = said.status == 0;
    }
    seen_.saw(journal_);
    if (seen_.begun()) seen_.look();
    const auto wrong = complaint(
        said, {.killed = what.kills(), .heard = what.err == stream::kept, .may_not_load = !what.limits.empty()});
    if (!wrong.empty()) seen_.object(arguments.front() + ": " + wrong);
    return said;
}

std::vector<std::string> scene::next() const {
    return seen_.begun() ? resume(where_.run()) : whole_.how.start(on_.sources, where_.run());
}

void scene::finish(bool may_refuse) {
    if (!done_) {
        const bool before = seen_.over();
        const auto said = go(next());
        // A run that was over already is no longer resumed; what its end left behind is now gone.
        const bool was_over = before && said.status == 2;
        if (said.status != 0 && !was_over) {
            refused_ = true;
            if (!may_refuse) seen_.object("can't go on: " + error_line(said));
        }
    }
    if (seen_.begun()) {
        const auto verified = go({"ledger", "verify", where_.run().string()});
        if (verified.status != 0 && !may_refuse) seen_.object("ledger verify: " + error_line(verified));
    }
    went_on_ = true;
    if (!refused_) seen_.complete(whole_);
}

verdict scene::judged() {
    if (went_on_) seen_.look_for_leftovers();
    const auto& wrong = seen_.objections();
    if (!wrong.empty()) return {"FAILED", fmt::format("{}", fmt::join(wrong, " / "))};
    return {refused_ ? "refused" : runs_ > 1 ? "resumed" : "finished", {}};
}

}  // namespace rldp::testing

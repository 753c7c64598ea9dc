// Neighbours that are silent, or gone, while a run goes on or ends.
#include <sys/socket.h>

#include <atomic>
#include <future>

#include "run/ranks/link.hpp"
#include "tests/catch.hpp"

using namespace rldp;
using ranks::heartbeat;
using trouble = ranks::heartbeat::trouble;

namespace {

struct neighbours {
    std::vector<ranks::link> ours, theirs;
    std::promise<trouble> told;

    explicit neighbours(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            int ends[2];
            REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
            ours.push_back({{}, descriptor(ends[0])});
            theirs.push_back({{}, descriptor(ends[1])});
        }
    }
    std::function<void(trouble)> alarm() {
        return [this](trouble what) { told.set_value(what); };
    }
};

}  // namespace

TEST_CASE("a neighbour whose connection stands and that says nothing is silent") {
    neighbours some(1);
    const heartbeat beats(some.ours, std::chrono::seconds(1), some.alarm());
    CHECK(some.told.get_future().get() == trouble::silent);
}

TEST_CASE("a neighbour that closes is lost, unless all are leaving, and then a silent one is missed still") {
    for (const bool leaving : {false, true}) {
        neighbours some(2);
        heartbeat beats(some.ours, std::chrono::seconds(1), some.alarm());
        if (leaving) beats.leaving();
        some.theirs.front() = {};
        CHECK(some.told.get_future().get() == (leaving ? trouble::silent : trouble::lost));
    }
}

TEST_CASE("two that beat for each other raise no alarm for longer than the timeout") {
    neighbours some(1);
    std::atomic<int> alarms = 0;
    const auto count = [&](trouble) { ++alarms; };
    neighbours third(1);
    {
        const heartbeat one(some.ours, std::chrono::seconds(1), count),
            other(some.theirs, std::chrono::seconds(1), count);
        const heartbeat silent(third.ours, std::chrono::seconds(3), third.alarm());
        CHECK(third.told.get_future().get() == trouble::silent);  // so long it was
        CHECK(alarms == 0);
    }
}

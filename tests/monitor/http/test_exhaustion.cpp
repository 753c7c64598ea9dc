// A server whose process runs out of memory or of files loses connections, never itself. This file's operator new and
// accept() fail on demand.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "monitor/http/server.hpp"
#include "tests/catch.hpp"
#include "tests/monitor/at_step.hpp"
#include "tests/monitor/peer.hpp"

namespace {

std::atomic<int> failing_accepts = 0;  // so many more accept() fail
std::atomic<int> passing_news = -1;    // on other threads than the test's, so many more succeed; negative: all
std::atomic<int> failed_news = 0;
thread_local bool is_test_thread = false;

bool fails_now() {
    if (is_test_thread || passing_news < 0) return false;
    if (passing_news.load() > 0) {
        --passing_news;
        return false;
    }
    passing_news = -1;  // one failure, then memory is there again
    ++failed_news;
    return true;
}

}  // namespace

void* operator new(std::size_t size) {
    if (fails_now()) throw std::bad_alloc();
    if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
    throw std::bad_alloc();
}
// Under the address sanitizer this one would not come to the one above.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    try {
        return operator new(size);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

extern "C" int accept(int listener, sockaddr* address, socklen_t* size) {
    if (failing_accepts > 0) {
        --failing_accepts;
        errno = EMFILE;
        return -1;
    }
    return static_cast<int>(::syscall(SYS_accept4, listener, address, size, 0));
}

using namespace rldp;
using namespace rldp::testing;

namespace {

const auto* const name_on_the_heap = "a run whose name is too long for a small string";

monitor::http_config looking_often() {
    monitor::http_config out;
    out.limits.tick = out.limits.heartbeat = std::chrono::milliseconds(1);
    return out;
}

}  // namespace

TEST_CASE("where files are short, connections wait until there are some") {
    monitor::http_server server(looking_often(), {}, "1");
    server.tell(at_step(1, name_on_the_heap));
    failing_accepts = 3;
    peer watcher(server.port());
    watcher.send(stream_request());
    CHECK(next_event(watcher));
    CHECK(failing_accepts == 0);
}

TEST_CASE("where memory is short, wherever it is, a connection ends and the server goes on") {
    is_test_thread = true;
    auto how = looking_often();
    how.limits.connections = 2;  // one that would be held for ever would soon be missed
    monitor::http_server server(how, {}, "1");
    bool served = false;
    const auto watch = [&] {
        server.tell(at_step(1, name_on_the_heap));
        peer watcher(server.port());
        watcher.send(stream_request());
        served = next_event(watcher).has_value();
        if (served) watcher.read_until(":\n\n");
    };
    constexpr int failures = 80, most_attempts = 10'000;
    for (int i = 0; i < failures; ++i) {
        passing_news = i;  // so each time another allocation fails
        for (int attempt = 0; failed_news == i && attempt < most_attempts; ++attempt) watch();
        REQUIRE(failed_news == i + 1);
    }
    for (int attempt = 0; !served && attempt < most_attempts; ++attempt) watch();
    CHECK(served);
    is_test_thread = false;
}

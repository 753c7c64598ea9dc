// What data cost in memory: each piece that is allocated is counted.
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "data/units/load_tokens.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::data;

namespace {

std::atomic<std::ptrdiff_t> live{0}, peak{0};

void count(std::ptrdiff_t bytes) {
    const auto now = live += bytes;
    for (auto most = peak.load(); now > most && !peak.compare_exchange_weak(most, now);) {
    }
}

}  // namespace

void* operator new(std::size_t size) {
    void* out = std::malloc(size);
    if (out == nullptr) throw std::bad_alloc();
    count(static_cast<std::ptrdiff_t>(::malloc_usable_size(out)));
    return out;
}

// Under the address sanitizer this one would not come to the one above.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    try {
        return operator new(size);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void operator delete(void* bytes) noexcept {
    count(-static_cast<std::ptrdiff_t>(::malloc_usable_size(bytes)));
    std::free(bytes);
}

void operator delete(void* bytes, std::size_t) noexcept {
    operator delete(bytes);
}

TEST_CASE("a record costs four bytes a token and 50 more, texts nothing") {
    const scratch_directory at;
    const bool made_up = GENERATE(true, false);
    constexpr std::size_t each = 20;  // tokens
    const auto encode = [](const std::string& text) {
        return std::vector<std::int32_t>(text.begin(), text.begin() + each);
    };
    const auto most = [&](std::size_t records) {
        std::string lines;
        for (std::size_t i = 0; i < records; ++i) lines += std::string(300, 'x') + std::to_string(i) + "\n";
        const source from = made_up
                                ? source{"synthetic:" + std::to_string(records), {}, "config/narrative-uci.json", {}}
                                : source{at.write("t.txt", lines), {}, {}, {}};
        lines = {};
        peak = live.load();
        const auto before = live.load();
        const auto found =
            load_tokens(from, split_rule{}, {.encode = encode, .max_tokens = 256, .threads = 2, .held_out = 100});
        CHECK(found.records > static_cast<std::int64_t>(records) / 2);
        return peak - before;
    };
    constexpr std::size_t few = 30'000, many = 90'000;
    const auto each_more = static_cast<double>(most(many) - most(few)) / static_cast<double>(many - few);
    // Who makes records up remembers each patient.
    CHECK(each_more < 4.0 * each + (made_up ? 66 : 50));
}

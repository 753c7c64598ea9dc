// What ranks tell each other: sealed for one turn of one rank, sums behind masks that cancel, tags that add up.
#include "privacy/keys/cluster_secret.hpp"

#include <sys/stat.h>

#include <array>
#include <cmath>
#include <random>

#include "base/error.hpp"
#include "base/files.hpp"
#include "privacy/keys/random.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::privacy;

namespace {

std::string nonces(std::size_t ranks) {
    std::string out;
    for (std::size_t r = 0; r < ranks; ++r) {
        const auto one = meeting::nonce();
        out.append(one.begin(), one.end());
    }
    return out;
}

std::vector<std::int64_t> make_numbers(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 dice(seed);
    std::uniform_int_distribution<std::int64_t> any(-(std::int64_t{1} << 58), std::int64_t{1} << 58);
    std::vector<std::int64_t> out(count);
    for (auto& number : out) number = any(dice);
    return out;
}

/// χ² of the bytes over 256 values, standardised: nearly standard normal for uniform ones.
double byte_score(const std::vector<std::int64_t>& numbers) {
    std::array<double, 256> counts{};
    const auto* bytes = reinterpret_cast<const unsigned char*>(numbers.data());
    const std::size_t n = numbers.size() * sizeof(std::int64_t);
    for (std::size_t i = 0; i < n; ++i) ++counts[bytes[i]];
    const double expected = static_cast<double>(n) / 256;
    double chi = 0;
    for (const double count : counts) chi += (count - expected) * (count - expected) / expected;
    return (chi - 255) / std::sqrt(2 * 255.0);
}

}  // namespace

TEST_CASE("a sealed word opens at its turn, as its rank's, at its meeting, and whole") {
    const auto secret = cluster_secret::from_system();
    const auto all = nonces(3);
    const meeting here(secret, all), there(secret, all), later(secret, nonces(3)),
        strangers(cluster_secret::from_system(), all);
    auto sealed = here.seal("step 4", 1, 7);
    CHECK(there.open(sealed, 1, 7) == "step 4");
    CHECK_FALSE(there.open(sealed, 2, 7));
    CHECK_FALSE(there.open(sealed, 1, 8));
    CHECK_FALSE(later.open(sealed, 1, 7));
    CHECK_FALSE(strangers.open(sealed, 1, 7));
    CHECK_FALSE(there.open("short", 1, 7));
    for (std::size_t at = 0; at < sealed.size(); ++at) {
        sealed[at] ^= 1;
        CHECK_FALSE(there.open(sealed, 1, 7));
        sealed[at] ^= 1;
    }
    CHECK(there.open(sealed, 1, 7));
}

TEST_CASE("masks make numbers look uniform, never twice the same, and only rank 0 takes the last of them off the sum") {
    const auto secret = cluster_secret::from_system();
    for (const std::size_t ranks : {2U, 3U, 5U}) {
        const meeting keys(secret, nonces(ranks));
        constexpr std::size_t count = 10'000;  // not a multiple of what is masked at a time
        std::vector<std::int64_t> plain(count), masked(count);
        for (std::size_t r = 0; r < ranks; ++r) {
            auto share = make_numbers(count, r);
            for (std::size_t j = 0; j < count; ++j) plain[j] += share[j] % 1000;
            for (auto& number : share) number %= 1000;
            CHECK(byte_score(share) > 100);
            const auto in_clear = share;
            keys.mask(share, 9, r);
            CHECK(std::abs(byte_score(share)) < 5);
            std::size_t kept = 0;
            for (std::size_t j = 0; j < count; ++j) kept += share[j] == in_clear[j];
            CHECK(kept == 0);
            for (std::size_t j = 0; j < count; ++j)
                masked[j] = static_cast<std::int64_t>(static_cast<std::uint64_t>(masked[j]) +
                                                      static_cast<std::uint64_t>(share[j]));
            auto again = in_clear;
            keys.mask(again, 10, r);
            CHECK(again != share);
        }
        CHECK(std::abs(byte_score(masked)) < 5);  // of all of them, too: a ring shows it before rank 0 has it
        keys.unmask(masked, 9, ranks);
        CHECK(masked == plain);
    }
}

TEST_CASE("a tag is that of another engine, adds up as numbers do, and tells a single changed bit") {
    const meeting keys(cluster_secret::from_system(), nonces(2));
    const auto a = make_numbers(1000, 1), b = make_numbers(1000, 2);
    std::vector<std::int64_t> sum(1000);
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] = a[j] + b[j];
    const auto expected = meeting::add_tags(keys.tag(a, 3), keys.tag(b, 3));
    CHECK(keys.tag(sum, 3) == expected);
    CHECK(keys.tag(sum, 4) != meeting::add_tags(keys.tag(a, 3), keys.tag(b, 3)));
    for (const std::size_t at : {0U, 1U, 500U, 999U})
        for (const int bit : {0, 20, 57}) {
            auto changed = sum;
            changed[at] ^= std::int64_t{1} << bit;
            CHECK(keys.tag(changed, 3) != expected);
        }
    std::swap(sum[3], sum[4]);
    CHECK(keys.tag(sum, 3) != expected);
    // k, k², k³ of a polynomial: the tag of a one in each place gives the powers, and their product agrees.
    const auto power = [&](std::size_t place) {
        std::vector<std::int64_t> one(3);
        one[place] = 1;
        return keys.tag(one, 8);
    };
    __extension__ using wide = unsigned __int128;
    constexpr auto prime = (std::uint64_t{1} << 61) - 1;
    CHECK(power(1) == static_cast<std::uint64_t>(static_cast<wide>(power(0)) * power(0) % prime));
    CHECK(power(2) == static_cast<std::uint64_t>(static_cast<wide>(power(1)) * power(0) % prime));
    CHECK(keys.tag(std::vector<std::int64_t>{-1, 0, 0}, 8) == prime - power(0));
}

TEST_CASE("a cluster secret's file is its owner's alone and whole, or refused by name") {
    scratch_directory scratch;
    const auto path = scratch / "secret";
    const auto made = cluster_secret::from_system();
    made.save(path);
    struct stat seen {};
    REQUIRE(::stat(path.c_str(), &seen) == 0);
    CHECK((seen.st_mode & 0777) == 0600);
    const auto all = nonces(2);
    CHECK(meeting(cluster_secret::load(path), all).open(meeting(made, all).seal("x", 0, 1), 0, 1) == "x");
    CHECK(has(refusal([&] { made.save(path); }), "exists already"));
    std::filesystem::permissions(path, std::filesystem::perms{0640});
    CHECK(has(refusal([&] { cluster_secret::load(path); }), "others can read this cluster secret"));
    rldp::write_file(scratch / "damaged", rldp::read_file(path).substr(1), 0600);
    CHECK(has(refusal([&] { cluster_secret::load(scratch / "damaged"); }), "is no cluster secret"));
}

TEST_CASE("a run key travels sealed, with its streams") {
    const meeting keys(cluster_secret::from_system(), nonces(2));
    const auto key = run_key::from_system();
    const auto sealed = key.seal(keys, 0, 5);
    const auto arrived = run_key::open(keys, sealed, 0, 5);
    REQUIRE(arrived);
    CHECK(arrived->hmac("data") == key.hmac("data"));
    random_stream mine(key, purpose::draw, 1, 0), theirs(*arrived, purpose::draw, 1, 0);
    CHECK(mine.next() == theirs.next());
    CHECK_FALSE(run_key::open(keys, sealed, 0, 6));
    CHECK_FALSE(run_key::open(keys, keys.seal("another word", 0, 5), 0, 5));
}

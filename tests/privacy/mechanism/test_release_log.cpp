#include <ATen/ATen.h>

#include <fstream>

#include "base/files.hpp"
#include "privacy/release.hpp"
#include "tests/catch.hpp"
#include "tests/support/charges.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::privacy;

namespace {

release sample(std::uint64_t seq, bool unsound = false) {
    auto out = rldp::testing::blank_release(seq);
    out.gradient = at::arange(5, at::kFloat) / static_cast<double>(seq + 2);
    out.statistics = {0.1, -1e300, 5e-324};
    if (unsound) {
        out.unsound.emplace();
        out.unsound->quartiles = {{1, 2, 3}, {4, 5, 6}};
        out.unsound->kurtosis = 2.5;
        out.unsound->units = 17;
    }
    return out;
}

/// What was charged: so many steps.
ledger_content make_ledger(std::uint64_t steps) {
    ledger_content out{.header = rldp::testing::scratch_header()};
    for (std::uint64_t seq = 1; seq <= steps; ++seq) out.charges.push_back(rldp::testing::charged_at(seq));
    return out;
}

const ledger_content& charges() {
    static const auto content = make_ledger(10);
    return content;
}

const file_seal& seal() {
    static const file_seal own(run_key::insecure_from_seed(1));
    return own;
}

std::vector<release> read(const std::filesystem::path& path) {
    return release_log::read(path, seal(), charges());
}

std::filesystem::path log_of_three(const scratch_directory& dir) {
    const auto path = dir / "releases";
    release_log log(path, seal());
    log.append(sample(1));
    log.append(sample(2, true));
    log.append(sample(3));
    return path;
}

void put(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

TEST_CASE("releases read back to the bit") {
    const scratch_directory dir;
    const auto all = read(log_of_three(dir));
    REQUIRE(all.size() == 3);
    for (std::uint64_t k = 0; k < 3; ++k) {
        const auto expected = sample(k + 1, k == 1);
        CHECK(all[k].charged->hash == expected.charged->hash);
        CHECK(at::equal(all[k].gradient, expected.gradient));
        CHECK(all[k].statistics == expected.statistics);
        CHECK(all[k].unsound.has_value() == (k == 1));
    }
    CHECK((all[1].unsound->quartiles == sample(2, true).unsound->quartiles));
    CHECK(all[1].unsound->kurtosis == 2.5);
    CHECK(all[1].unsound->units == 17);
    CHECK(read(dir / "none").empty());
}

TEST_CASE("a torn or corrupt tail ends the list and is cut before the next release") {
    const scratch_directory dir;
    const auto path = log_of_three(dir);
    const auto text = rldp::read_file(path);
    const std::size_t record =
        (text.size() - 13 * 8 - 9 - 0) / 3;  // records 1 and 3 are shorter than 2 by its raw part
    for (std::size_t length = text.size() - 1; length > text.size() - record / 2; --length) {
        put(path, text.substr(0, length));
        REQUIRE(read(path).size() == 2);
    }
    for (std::size_t at = text.size() - record / 2; at < text.size(); ++at) {
        auto corrupt = text;
        corrupt[at] = static_cast<char>(corrupt[at] ^ 1);
        put(path, corrupt);
        REQUIRE(read(path).size() == 2);
    }
    put(path, text.substr(0, text.size() - 1));
    {
        release_log log(path, seal());
        log.append(sample(4));
    }
    const auto all = read(path);
    REQUIRE(all.size() == 3);
    CHECK(all[2].charged->seq == 4);
}

TEST_CASE("a damaged record with others behind it is refused, not taken for the end") {
    const scratch_directory dir;
    const auto path = log_of_three(dir);
    const auto text = rldp::read_file(path);
    for (std::size_t at = 0; at < text.size() / 3; ++at) {
        auto corrupt = text;
        corrupt[at] = static_cast<char>(corrupt[at] ^ 0x80);
        put(path, corrupt);
        REQUIRE(has(refusal([&] { read(path); }), "damaged"));
        REQUIRE(has(refusal([&] { release_log(path, seal()); }), "damaged"));
        REQUIRE(rldp::read_file(path) == corrupt);
    }
    put(path, text);
    const file_seal other(run_key::insecure_from_seed(2));
    CHECK(has(refusal([&] { release_log::read(path, other, charges()); }), "another run's"));
}

TEST_CASE("a log has one writer, is emptied on demand and takes whole gradients only") {
    const scratch_directory dir;
    const auto path = log_of_three(dir);
    release_log log(path, seal());
    CHECK_THROWS_AS(release_log(path, seal()), rldp::error);
    log.clear();
    CHECK(read(path).empty());
    log.append(sample(9));
    CHECK(read(path).at(0).charged->seq == 9);
    auto wrong = sample(1);
    wrong.gradient = wrong.gradient.to(at::kDouble);
    CHECK_THROWS_AS(log.append(wrong), rldp::error);
    wrong.gradient = at::Tensor();
    CHECK_THROWS_AS(log.append(wrong), rldp::error);
    CHECK(read(path).size() == 1);
    auto strided = sample(10);
    strided.gradient = at::arange(10, at::kFloat).slice(0, 0, 10, 2);
    log.append(strided);
    CHECK(at::equal(read(path).at(1).gradient, strided.gradient));
}

TEST_CASE("a release is read as one of a charge, or not at all") {
    const scratch_directory dir;
    const auto path = log_of_three(dir);
    CHECK(
        has(refusal([&] { release_log::read(path, seal(), make_ledger(2)); }), "release 3 (step 3) was never charged"));
    auto other = make_ledger(1);
    other.charges.push_back(rldp::testing::charged_at(2, 3));
    other.charges.push_back(rldp::testing::charged_at(3));
    CHECK(has(refusal([&] { release_log::read(path, seal(), other); }), "release 2 is step 2 at multiplier 1"));
}

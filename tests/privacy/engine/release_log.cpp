#include <torch/torch.h>

#include <fstream>

#include "config/files.hpp"
#include "privacy/release.hpp"
#include "scratch.hpp"
#include "tests/catch.hpp"

using namespace rldp::privacy;

namespace {

release sample(std::uint64_t seq, bool unsound = false) {
    release out;
    out.seq = seq;
    out.step = static_cast<std::int64_t>(seq) + 100;
    out.noise_multiplier = 0.1 + static_cast<double>(seq);
    out.gradient = torch::arange(5, torch::kFloat32) / static_cast<double>(seq + 2);
    out.statistics = {0.1, -1e300, 5e-324};
    if (unsound) {
        out.unsound.emplace();
        out.unsound->quartiles = {{1, 2, 3}, {4, 5, 6}};
        out.unsound->kurtosis = 2.5;
        out.unsound->units = 17;
    }
    return out;
}

std::filesystem::path log_of_three(const scratch_directory& dir) {
    const auto path = dir / "releases";
    release_log log(path);
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
    const auto all = release_log::read(log_of_three(dir));
    REQUIRE(all.size() == 3);
    for (std::uint64_t k = 0; k < 3; ++k) {
        const auto expected = sample(k + 1, k == 1);
        CHECK(all[k].seq == expected.seq);
        CHECK(all[k].step == expected.step);
        CHECK(all[k].noise_multiplier == expected.noise_multiplier);
        CHECK(torch::equal(all[k].gradient, expected.gradient));
        CHECK(all[k].statistics == expected.statistics);
        CHECK(all[k].unsound.has_value() == (k == 1));
    }
    CHECK((all[1].unsound->quartiles == sample(2, true).unsound->quartiles));
    CHECK(all[1].unsound->kurtosis == 2.5);
    CHECK(all[1].unsound->units == 17);
    CHECK(release_log::read(dir / "none").empty());
}

TEST_CASE("a torn or corrupt tail ends the list and is cut before the next release") {
    const scratch_directory dir;
    const auto path = log_of_three(dir);
    const auto text = rldp::read_file(path);
    const std::size_t record =
        (text.size() - 13 * 8 - 9 - 0) / 3;  // records 1 and 3 are shorter than 2 by its raw part
    for (std::size_t length = text.size() - 1; length > text.size() - record / 2; --length) {
        put(path, text.substr(0, length));
        REQUIRE(release_log::read(path).size() == 2);
    }
    for (std::size_t at = text.size() - record / 2; at < text.size(); ++at) {
        auto corrupt = text;
        corrupt[at] = static_cast<char>(corrupt[at] ^ 1);
        put(path, corrupt);
        REQUIRE(release_log::read(path).size() == 2);
    }
    for (std::size_t at = 0; at < record / 2; ++at) {
        auto corrupt = text;
        corrupt[at] = static_cast<char>(corrupt[at] ^ 0x80);
        put(path, corrupt);
        REQUIRE(release_log::read(path).empty());
    }
    put(path, text.substr(0, text.size() - 1));
    {
        release_log log(path);
        log.append(sample(4));
    }
    const auto all = release_log::read(path);
    REQUIRE(all.size() == 3);
    CHECK(all[2].seq == 4);
}

TEST_CASE("a log has one writer, is emptied on demand and takes whole gradients only") {
    const scratch_directory dir;
    const auto path = log_of_three(dir);
    release_log log(path);
    CHECK_THROWS_AS(release_log(path), rldp::error);
    log.clear();
    CHECK(release_log::read(path).empty());
    log.append(sample(9));
    CHECK(release_log::read(path).at(0).seq == 9);
    auto wrong = sample(1);
    wrong.gradient = wrong.gradient.to(torch::kFloat64);
    CHECK_THROWS_AS(log.append(wrong), rldp::error);
    wrong.gradient = at::Tensor();
    CHECK_THROWS_AS(log.append(wrong), rldp::error);
    CHECK(release_log::read(path).size() == 1);
    auto strided = sample(10);
    strided.gradient = torch::arange(10, torch::kFloat32).slice(0, 0, 10, 2);
    log.append(strided);
    CHECK(torch::equal(release_log::read(path).at(1).gradient, strided.gradient));
}

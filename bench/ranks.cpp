// Milliseconds of what ranks do for each other at a step, by the number of coordinates: telling a step, masking,
// tagging, and adding up over loopback, each rank a thread; and what one lends another in a second. Prints JSON.
//
//   build/bench/bench_ranks --ranks 2 --coordinates 24000,294912,851968,3407872
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <thread>

#include "bench/timing.hpp"
#include "run/ranks/team.hpp"
#include "tests/run/ranks/teams.hpp"

namespace {

using namespace rldp;

nlohmann::ordered_json measure(std::size_t ranks, std::int64_t coordinates, int repeats) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(coordinates), 12345);
    const privacy::meeting keys(privacy::cluster_secret::from_system(), std::string(64, 'n'));
    std::uint64_t seq = 0;
    nlohmann::ordered_json out{{"ranks", ranks}, {"coordinates", coordinates}};
    out["mask_ms"] = bench::median_milliseconds(repeats, at::kCPU, [&] { keys.mask(numbers, ++seq, 0); });
    std::fill(numbers.begin(), numbers.end(), 12345);
    std::uint64_t tags = 0;
    out["tag_ms"] = bench::median_milliseconds(repeats, at::kCPU, [&] { tags += keys.tag(numbers, ++seq); });
    const auto threw = testing::as_ranks(ranks, [&](const auto& team) {
        const std::string adapter(static_cast<std::size_t>(coordinates) * 4, 'a');
        std::vector<double> tells, sums;
        for (int i = 0; i <= repeats; ++i) {
            tells.push_back(bench::measure_milliseconds(at::kCPU, [&] { team->broadcast(adapter); }));
            auto mine = numbers;
            team->exchange("ready");  // so that nobody is waited for
            sums.push_back(
                bench::measure_milliseconds(at::kCPU, [&] { team->reduce(static_cast<std::uint64_t>(i) + 1, mine); }));
        }
        const auto kept = std::make_shared<std::string>(std::size_t{64} << 20, 'l');
        const auto lending = team->lend([kept](std::uint64_t) { return ranks::lending::loan{{*kept}, kept}; });
        std::string place(kept->size(), ' ');
        const std::array parts{std::span<char>(place)};
        const auto lends = bench::median_milliseconds(repeats, at::kCPU, [&] {
            if (team->rank() == 0) lending->borrow(1, 0, parts);
        });
        team->leave();
        if (team->rank() != 0) return;
        out["lent_mib_per_s"] = 1000 * 64 / lends;
        tells.erase(tells.begin());
        sums.erase(sums.begin());
        out["tell_ms"] = bench::median(tells);
        out["reduce_ms"] = bench::median(sums);
    });
    for (const auto& line : threw)
        if (!line.empty()) throw std::runtime_error(line);
    out["check"] = tags % 2;
    return out;
}

}  // namespace

int main(int argc, char** argv) try {
    CLI::App program("Milliseconds of what ranks do for each other at a step, as JSON");
    std::size_t ranks = 2;
    int repeats = 9;
    std::vector<std::int64_t> coordinates = {24'000, 294'912, 851'968, 3'407'872};
    program.add_option("--ranks", ranks)->check(CLI::Range(2, 64))->capture_default_str();
    program.add_option("--repeats", repeats)->check(CLI::Range(1, 1000))->capture_default_str();
    program.add_option("--coordinates", coordinates, "D, a list")->delimiter(',')->capture_default_str();
    CLI11_PARSE(program, argc, argv);
    nlohmann::ordered_json all;
    for (const auto count : coordinates) all.push_back(measure(ranks, count, repeats));
    fmt::print("{}\n", all.dump(2));
} catch (const std::exception& thrown) {
    fmt::print(stderr, "{}\n", thrown.what());
    return 1;
}

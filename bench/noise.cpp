// Four-sum normals per second on one core, and what of it is the key stream. Prints JSON.
//
//   build/bench/bench_noise --millions 16 --repeats 5
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "privacy/keys/random.hpp"

int main(int argc, char** argv) {
    CLI::App program("Four-sum normals per second, as JSON");
    std::size_t millions = 16;
    int repeats = 5;
    program.add_option("--millions", millions, "normals per call, in millions")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    program.add_option("--repeats", repeats, "calls")->check(CLI::Range(1, 1000))->capture_default_str();
    CLI11_PARSE(program, argc, argv);

    using namespace rldp::privacy;
    const auto key = run_key::from_system();
    const auto median = [&](auto work) {
        std::vector<double> spans;
        for (int i = 0; i < repeats; ++i) {
            random_stream stream(key, purpose::noise, static_cast<std::uint64_t>(i) + 1, 0);
            const auto begin = std::chrono::steady_clock::now();
            work(stream);
            spans.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        }
        std::sort(spans.begin(), spans.end());
        return spans[spans.size() / 2];
    };
    std::vector<double> normals(millions * 1'000'000);
    std::vector<std::uint64_t> words(4 * normals.size());  // as many as the normals take
    const double whole = median([&](random_stream& stream) { stream.normals(normals); });
    const double keystream = median([&](random_stream& stream) { stream.words(words); });
    fmt::print("{}\n", nlohmann::ordered_json{{"normals", normals.size()},
                                              {"seconds", whole},
                                              {"millions_per_second", static_cast<double>(millions) / whole},
                                              {"key_stream_seconds", keystream}}
                           .dump(2));
}

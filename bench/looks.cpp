// How exact a look at held-out units is: the half-width of its interval by the plan's formula, and what figures of
// simulated looks really scattered by. Prints a Markdown table; research/performance.md shows it.
//
//   build/bench/bench_looks --vocabulary 50257
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "privacy/mechanism/look.hpp"
#include "privacy/spending/policy.hpp"
#include "tests/support/charges.hpp"

int main(int argc, char** argv) {
    CLI::App program("Half-width of the interval of a look's mean loss, nats per token");
    double vocabulary = 50257, delta = 1e-6, mean = 1.2;
    int repetitions = 400;
    program.add_option("--vocabulary", vocabulary, "tokens that the model knows")->capture_default_str();
    program.add_option("--delta", delta, "of the contract")->capture_default_str();
    program.add_option("--mean", mean, "mean loss of the simulated units; they scatter by a third of it")
        ->capture_default_str();
    program.add_option("--repetitions", repetitions, "looks that are simulated for each row")->capture_default_str();
    CLI11_PARSE(program, argc, argv);

    using namespace rldp;
    const double reach = std::round(10 * 0.6 * std::log(vocabulary)) / 10;
    std::mt19937_64 random(1);
    std::normal_distribution<double> nats(mean, mean / 3);
    fmt::print("| N | looked at | ε | looks | z | ± of the plan | ± seen | intervals that hold |\n");
    fmt::print("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (const auto& [population, units] : {std::pair{5'000, 556}, {62'500, 6'944}})
        for (const double epsilon : {1.0, 2.0, 8.0})
            for (const std::int64_t looks : {1, 3, 20}) {
                const double z = privacy::noise_of_looks(looks, epsilon, delta);
                const auto ledger = testing::looked_at(repetitions, z);
                double squares = 0;
                int held = 0;
                for (const auto& charged : ledger.looks) {
                    // As of a second look: about where the first one found them.
                    privacy::look_sum sum(privacy::look_frame{{mean, reach}});
                    double own = 0;
                    for (int i = 0; i < units; ++i) {
                        const double one = nats(random);
                        own += one / units;
                        sum.add({one, {}, {}});
                    }
                    const auto found =
                        privacy::decode_figures(sum.finish(charged, privacy::run_key::from_system())).nats;
                    squares += (found.value - own) * (found.value - own);
                    held += std::abs(found.value - own) <= found.within ? 1 : 0;
                }
                fmt::print("| {} | {} | {:g} | {} | {:.3f} | {:.4f} | {:.4f} | {:.1f} % |\n", population, units,
                           epsilon, looks, z, reach * privacy::expected_within(z, units),
                           1.96 * std::sqrt(squares / repetitions), 100.0 * held / repetitions);
            }
}

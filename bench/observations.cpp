// How well the controller can see: error of the private quartiles and loss against statistics share and batch. Prints a
// Markdown table; docs/privacy.md shows it.
//
//   build/bench/bench_observations --noise-multiplier 0.65 --groups 24
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "bench/simulated_statistics.hpp"
#include "privacy/mechanism/sanitizer.hpp"

int main(int argc, char** argv) {
    CLI::App program("Error of the controller's private observations, as a Markdown table");
    double z = 0.65;
    std::size_t groups = 24;
    int steps = 400, seeds = 5;
    program.add_option("--noise-multiplier", z, "joint multiplier z of a step")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    program.add_option("--groups", groups, "adapters")->check(CLI::Range(1, 1000))->capture_default_str();
    program.add_option("--steps", steps, "steps; the last half counts")
        ->check(CLI::Range(20, 100'000))
        ->capture_default_str();
    program.add_option("--seeds", seeds, "simulations to average over")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    CLI11_PARSE(program, argc, argv);

    using namespace rldp;
    const double shares[] = {0.005, 0.02, 0.1, 0.5};
    fmt::print("| expected batch |");
    for (const double share : shares) fmt::print(" share {:g} |", share);
    fmt::print("\n| --- |{}\n", " --- | --- | --- | --- |");
    for (const double batch : {16.0, 64.0, 256.0, 1024.0}) {
        fmt::print("| {:g} |", batch);
        for (const double share : shares) {
            const double multiplier = privacy::measurement_multiplier(z, share);
            double quartiles = 0, loss = 0;
            for (int seed = 1; seed <= seeds; ++seed) {
                const auto run = bench::simulate({groups}, batch, multiplier, steps, static_cast<std::uint64_t>(seed));
                quartiles += run.mean_log_error / seeds;
                loss += std::abs(run.seen.loss - 2) / seeds;
            }
            fmt::print(" {:.1f} %, {:.3f} |", 100 * std::expm1(quartiles), loss);
        }
        fmt::print("\n");
    }
}

// How long a prepared controller takes: a decision, and looking at a release before it. Milliseconds, medians.
//
//   build/bench/bench_decision POLICY.safetensors
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "bench/timing.hpp"
#include "models/thread_count.hpp"
#include "rl/prepared/prepared_controller.hpp"
#include "run/train/steering.hpp"

namespace {

using namespace rldp;

void measure(const std::shared_ptr<const rl::prepared_policy>& policy, std::int64_t adapters, std::int64_t size) {
    const auto n = static_cast<std::size_t>(adapters);
    rl::prepared_controller controller(
        policy, {.plan = {.steps = 100,
                          .noise = rl::compute_noise_level(0.7, static_cast<double>(adapters * size), 64),
                          .adapters = n},
                 .noise_multiplier = 0.7,
                 .epochs = 2});
    rl::block_observation seen;
    seen.time = 0.5;
    seen.features.assign(n, {0.3, 0.1, 0.2, 0.01});
    const double deciding = bench::median_milliseconds(200, at::kCPU, [&] { controller.decide(seen); });

    const auto adapter = at::randn({adapters * size}), released = at::randn({adapters * size});
    rl::block_watch watch(privacy::make_segments(std::vector<std::int64_t>(n, size)), adapter);
    const std::vector<double> deviations(n, 0.1);
    const double looking = bench::median_milliseconds(20, at::kCPU, [&] { watch.add(released, deviations); });
    const double closing = bench::median_milliseconds(20, at::kCPU, [&] { watch.close(adapter); });
    fmt::print("| {} | {} | {:.3f} | {:.3f} | {:.3f} |\n", adapters, size, deciding, looking, closing);
}

int run(int argc, char** argv) {
    CLI::App program("Milliseconds of a prepared controller's decision, as a Markdown table");
    std::string path;
    program.add_option("policy", path, "file of a prepared policy")->required();
    CLI11_PARSE(program, argc, argv);
    models::use_threads(1);  // as the actors have it
    const auto policy = std::make_shared<const rl::prepared_policy>(rl::prepared_policy::load(path));
    fmt::print(
        "| adapters | numbers each | decision | look at a release | at a block |\n"
        "| --- | --- | --- | --- | --- |\n");
    for (const auto& [adapters, size] : {std::pair{10, 1000}, std::pair{24, 12'288}, std::pair{64, 65'536}})
        measure(policy, adapters, size);
    return 0;
}

}  // namespace

int main(int argc, char** argv) try { return run(argc, argv); } catch (const std::exception& e) {
    std::fputs((std::string("bench: ") + e.what() + "\n").c_str(), stderr);
    return 2;
}

// A private step of tensors trained whole against an ordinary one: time and peak memory. Each kind in a process of its
// own, kinds alternating. Prints JSON.
//
//   build/bench/bench_whole --model gpt2-small --batch 4 --length 128 --threads 2
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "actors/threads.hpp"
#include "bench/tensor_memory.hpp"
#include "bench/timing.hpp"
#include "bench/whole_kinds.hpp"
#include "models/device.hpp"

namespace {

using namespace rldp;
using namespace rldp::bench;
using nlohmann::ordered_json;

struct options {
    step_shape shape;
    std::vector<std::string> parameters{"all"};
    bool by_module = false, profile = false;
    int steps = 3, repeats = 3;
};

struct tally {
    std::vector<double> milliseconds, process, tensors;
    ordered_json json() const {
        return {{"milliseconds", median(milliseconds)},
                {"least", least(milliseconds)},
                {"most", *std::max_element(milliseconds.begin(), milliseconds.end())},
                {"peak_process_mebibytes", median(process)},
                {"peak_tensor_mebibytes", median(tensors)}};
    }
};

void measure(const options& given, bool is_private, tally& into) {
    const auto child = in_child([&] {
        actors::share_heap();
        tensor_memory memory;
        whole_kinds steps(given.shape, given.parameters, !given.by_module);
        memory.begin();
        const double span = median_milliseconds(given.steps, at::Device(at::kCPU),
                                                [&] { is_private ? steps.private_step() : steps.ordinary(); });
        return std::vector{span, memory.peak_mebibytes()};
    });
    into.milliseconds.push_back(child.figures.at(0));
    into.tensors.push_back(child.figures.at(1));
    into.process.push_back(child.peak_mebibytes);
}

ordered_json compare(const options& given) {
    tally ordinary, priv;
    for (int i = 0; i < given.repeats; ++i) {
        measure(given, false, ordinary);
        measure(given, true, priv);
    }
    return {{"model", given.shape.model},
            {"parameters", given.parameters},
            {"clipped", given.by_module ? "by module" : "as one"},
            {"batch", given.shape.batch},
            {"length", given.shape.length},
            {"threads", given.shape.threads},
            {"blas", models::blas_name()},
            {"ordinary step", ordinary.json()},
            {"private step", priv.json()},
            {"ratio_time", median(priv.milliseconds) / median(ordinary.milliseconds)},
            {"ratio_time_least", least(priv.milliseconds) / least(ordinary.milliseconds)},
            {"ratio_process_memory", median(priv.process) / median(ordinary.process)},
            {"ratio_tensor_memory", median(priv.tensors) / median(ordinary.tensors)}};
}

ordered_json measure_parts(const options& given) {
    actors::share_heap();
    whole_kinds steps(given.shape, given.parameters, !given.by_module);
    steps.private_step();
    std::map<std::string, std::vector<double>> parts;
    for (int i = 0; i < given.steps; ++i)
        for (const auto& [part, span] : steps.private_parts()) parts[part].push_back(span);
    ordered_json out{{"trained", steps.trained()}};
    for (const auto& [part, spans] : parts) out["milliseconds"][part] = median(spans);
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App program("Private step of whole tensors against an ordinary step, as JSON");
    options given;
    given.shape.model = "gpt2-small";
    program.add_option("--model", given.shape.model, "gpt2-small, llama-3.2-1b or stories260k; random weights")
        ->capture_default_str();
    program.add_option("--parameters", given.parameters, "as train.parameters")->capture_default_str();
    program.add_flag("--by-module", given.by_module, "a radius for each module");
    program.add_option("--batch", given.shape.batch, "records")->check(CLI::Range(1, 4096))->capture_default_str();
    program.add_option("--length", given.shape.length, "tokens of each")
        ->check(CLI::Range(2, 8192))
        ->capture_default_str();
    program.add_option("--threads", given.shape.threads)->check(CLI::Range(1, 256))->capture_default_str();
    program.add_option("--steps", given.steps, "steps of one process")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    program.add_option("--repeats", given.repeats, "processes of each kind")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
    program.add_flag("--profile", given.profile, "print where the private step's time goes instead");
    CLI11_PARSE(program, argc, argv);
    try {
        fmt::print("{}\n", (given.profile ? measure_parts(given) : compare(given)).dump(2));
        return 0;
    } catch (const error& e) {
        fmt::print(stderr, "bench: {}\n", e.what());
        return static_cast<int>(e.code());
    }
}

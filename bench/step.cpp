// The private step against an ordinary LoRA step and against the multiplications that neither can avoid: time and peak
// memory. Each kind in a process of its own, kinds alternating. Prints JSON.
//
//   build/bench/bench_step --model gpt2-small --batch 4 --length 128 --threads 2
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>

#include "actors/threads.hpp"
#include "base/error.hpp"
#include "bench/op_profile.hpp"
#include "bench/product_bound.hpp"
#include "bench/step_kinds.hpp"
#include "bench/tensor_memory.hpp"
#include "bench/timing.hpp"
#include "models/device.hpp"

namespace {

using namespace rldp;
using namespace rldp::bench;
using nlohmann::ordered_json;

struct run_options {
    step_shape shape;
    int steps = 5, repeats = 5, profile = 0;
};

struct kind {
    std::string name;
    std::function<void(step_kinds&)> step;
};

const std::vector<kind> kinds{{"forward only", [](step_kinds& s) { s.forward(); }},
                              {"ordinary LoRA step", [](step_kinds& s) { s.ordinary(); }},
                              {"private step", [](step_kinds& s) { s.private_step(); }},
                              {"ordinary LoRA step by autograd alone", [](step_kinds& s) { s.autograd(); }}};

/// The samples of one kind from all repeats, and its peaks.
struct tally {
    std::vector<double> milliseconds, process, tensors;
};

/// In a child: milliseconds per step (median), and the peak of the tensors that the steps made.
std::vector<double> measure(const run_options& given, const kind& which) {
    actors::share_heap();
    tensor_memory memory;
    step_kinds steps(given.shape);
    memory.begin();
    const double span = median_milliseconds(given.steps, at::Device(given.shape.device), [&] { which.step(steps); });
    return {span, memory.peak_mebibytes()};
}

/// What the private step spends, by part and by operator; in a child, which prints.
void print_profile(const run_options& given) {
    actors::share_heap();
    step_kinds steps(given.shape);
    steps.private_step();
    std::map<std::string, std::vector<double>> parts;
    for (int i = 0; i < given.steps; ++i)
        for (const auto& [part, span] : steps.private_parts()) parts[part].push_back(span);
    ordered_json out;
    for (const auto& [part, spans] : parts) out["parts_milliseconds"][part] = median(spans);
    double whole = 0;
    const auto ops = profile_ops([&] {
        whole = measure_milliseconds(at::Device(given.shape.device), [&] {
            for (int i = 0; i < given.steps; ++i) steps.private_step();
        });
    });
    double inside = 0;
    for (const auto& op : ops) inside += op.milliseconds;
    out["milliseconds"] = whole / given.steps;
    out["outside_operators_milliseconds"] = (whole - inside) / given.steps;
    for (int i = 0; i < std::min<int>(given.profile, static_cast<int>(ops.size())); ++i) {
        const auto& op = ops[static_cast<std::size_t>(i)];
        out["operators"].push_back(
            {{"name", op.name}, {"milliseconds", op.milliseconds / given.steps}, {"calls", op.calls / given.steps}});
    }
    fmt::print("{}\n", out.dump(2));
}

ordered_json compare(const run_options& given) {
    std::map<std::string, tally> all;
    for (int i = 0; i < given.repeats; ++i)
        for (const auto& which : kinds) {
            const auto child = in_child([&] { return measure(given, which); });
            auto& t = all[which.name];
            t.milliseconds.push_back(child.figures.at(0));
            t.tensors.push_back(child.figures.at(1));
            t.process.push_back(child.peak_mebibytes);
        }
    const auto bound = in_child([&] {
        const auto config = make_shape(given.shape.model);
        models::choose_threads(config, given.shape.threads);
        const auto device = at::Device(given.shape.device);
        const auto options =
            at::TensorOptions(device).dtype(models::use_precision(parse_named<precision>(given.shape.dtype), device));
        const auto found = measure_product_bound(config, given.shape.batch, given.shape.length, options);
        return std::vector{found.milliseconds, found.milliseconds_from_memory, found.gigaflop};
    });

    ordered_json out{
        {"model", given.shape.model},     {"batch", given.shape.batch},       {"length", given.shape.length},
        {"precision", given.shape.dtype}, {"quantize", given.shape.quantize}, {"device", given.shape.device},
        {"threads", given.shape.threads}, {"dropout", given.shape.dropout},   {"bands", given.shape.bands},
        {"targets", given.shape.targets}, {"blas", models::blas_name()}};
    for (const auto& which : kinds) {
        const auto& t = all[which.name];
        out[which.name] = {{"milliseconds", median(t.milliseconds)},
                           {"least", least(t.milliseconds)},
                           {"most", *std::max_element(t.milliseconds.begin(), t.milliseconds.end())},
                           {"peak_process_mebibytes", median(t.process)},
                           {"peak_tensor_mebibytes", median(t.tensors)}};
    }
    const auto ratio = [&](const char* over, const char* under, auto member) {
        return median(all[over].*member) / median(all[under].*member);
    };
    out["unavoidable_products"] = {{"milliseconds", bound.figures.at(0)},
                                   {"milliseconds_from_memory", bound.figures.at(1)},
                                   {"gigaflop", bound.figures.at(2)}};
    out["ratio_private_to_ordinary"] = ratio("private step", "ordinary LoRA step", &tally::milliseconds);
    out["ratio_private_to_ordinary_least"] =
        least(all["private step"].milliseconds) / least(all["ordinary LoRA step"].milliseconds);
    out["ratio_private_to_autograd"] =
        ratio("private step", "ordinary LoRA step by autograd alone", &tally::milliseconds);
    out["ratio_private_to_products"] = median(all["private step"].milliseconds) / bound.figures.at(0);
    out["ratio_private_to_products_from_memory"] = median(all["private step"].milliseconds) / bound.figures.at(1);
    out["ratio_process_memory"] = ratio("private step", "ordinary LoRA step", &tally::process);
    out["ratio_tensor_memory"] = ratio("private step", "ordinary LoRA step", &tally::tensors);
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App program("Private step against ordinary LoRA step, as JSON");
    run_options given;
    given.shape.model = "gpt2-small";
    program
        .add_option("--model", given.shape.model,
                    "gpt2-small, smollm2-135m, llama-3.2-1b, mistral-7b or stories260k; random weights")
        ->capture_default_str();
    program.add_option("--batch", given.shape.batch, "records")->check(CLI::Range(1, 4096))->capture_default_str();
    program.add_option("--length", given.shape.length, "tokens of each")
        ->check(CLI::Range(2, 8192))
        ->capture_default_str();
    program.add_option("--precision", given.shape.dtype, "float32, tf32 or bfloat16")->capture_default_str();
    program.add_option("--quantize", given.shape.quantize, "holds linear modules in blocks, as model.quantize does")
        ->capture_default_str();
    program.add_option("--device", given.shape.device, "cpu or cuda")
        ->check(CLI::IsMember({"cpu", "cuda"}))
        ->capture_default_str();
    program.add_option("--dropout", given.shape.dropout, "of the adapters' inputs")
        ->check(CLI::Range(0.0, 0.9))
        ->capture_default_str();
    program.add_option("--targets", given.shape.targets, "modules with an adapter, as lora.targets has them: q,v")
        ->delimiter(',')
        ->capture_default_str();
    program.add_option("--bands", given.shape.bands, "of the noise")->check(CLI::Range(1, 1024))->capture_default_str();
    program.add_option("--threads", given.shape.threads)->check(CLI::Range(1, 256))->capture_default_str();
    program.add_option("--steps", given.steps, "steps of one process")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    program.add_option("--repeats", given.repeats, "processes of each kind")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
    program.add_option("--profile", given.profile,
                       "print where the private step's time goes instead, so many operators");
    CLI11_PARSE(program, argc, argv);
    try {
        if (given.profile > 0)
            print_profile(given);
        else
            fmt::print("{}\n", compare(given).dump(2));
        return 0;
    } catch (const error& e) {
        fmt::print(stderr, "bench: {}\n", e.what());
        return static_cast<int>(e.code());
    }
}

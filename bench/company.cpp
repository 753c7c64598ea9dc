// Unit gradients of one step as a run computes them: every unit in passes of its own, so that nobody's presence moves
// another by a bit (docs/privacy.md §6), against micro-batches. Rounds alternate; prints milliseconds and ratios.
//
//   build/bench/bench_company --model stories260k --batch 16 --shortest 256 --longest 256
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "bench/step_kinds.hpp"
#include "bench/timing.hpp"
#include "models/device.hpp"
#include "models/lora/layout.hpp"
#include "models/thread_count.hpp"
#include "run/step_gradients.hpp"

namespace {

using namespace rldp;

struct options {
    std::string model = "stories260k", dtype = "float32", device = "cpu";
    std::int64_t batch = 16, shortest = 256, longest = 256, micro_batch = 16;
    int threads = 2, rounds = 7;
    double dropout = 0;
    std::vector<std::string> parameters;
};

std::vector<models::sequence> random_records(const options& how, std::int64_t vocab) {
    std::vector<models::sequence> out;
    for (std::int64_t i = 0; i < how.batch; ++i) {
        const auto length = at::randint(how.shortest, how.longest + 1, {1}, at::kLong).item<std::int64_t>();
        const auto ids = at::randint(vocab, {length}, at::kInt);
        out.emplace_back(ids.data_ptr<std::int32_t>(), ids.data_ptr<std::int32_t>() + length);
    }
    return out;
}

int run(int argc, char** argv) {
    CLI::App program("Units in passes of their own against micro-batches");
    options how;
    program.add_option("--model", how.model, "as bench_step's");
    program.add_option("--dtype", how.dtype, "float32, tf32 or bfloat16");
    program.add_option("--device", how.device, "cpu or cuda");
    program.add_option("--batch", how.batch, "units");
    program.add_option("--shortest", how.shortest, "tokens of a record, at least");
    program.add_option("--longest", how.longest, "at most");
    program.add_option("--micro-batch", how.micro_batch, "records per forward pass");
    program.add_option("--dropout", how.dropout, "of the adapters' inputs");
    program.add_option("--parameters", how.parameters, "train.parameters: tensors that are trained whole");
    program.add_option("--threads", how.threads, "");
    program.add_option("--rounds", how.rounds, "of each");
    CLI11_PARSE(program, argc, argv);

    const auto type = models::use_precision(parse_named<precision>(how.dtype), at::Device(how.device));
    const auto floats = at::TensorOptions(at::Device(how.device)).dtype(type);
    const auto shape = bench::make_shape(how.model);
    actors::run_model model{models::causal_lm::from_weights(shape, bench::make_random_weights(shape, floats)),
                            how.parameters.empty() ? models::make_layout(shape, {8, 16, how.dropout, {"q", "v"}})
                                                   : models::make_tensor_layout(shape, how.parameters),
                            {}};
    model.initial_adapter = how.parameters.empty() ? models::initial_adapter(model.layout, 1).to(how.device)
                                                   : model.base->flatten_tensors(model.layout);
    models::choose_threads(shape, how.threads);
    at::manual_seed(2);
    const auto records = random_records(how, shape.vocab);
    std::vector<models::unit_records> units;
    units.reserve(records.size());
    for (const auto& record : records) units.push_back({record});
    const auto key = privacy::run_key::insecure_from_seed(1);
    const auto time = [&](bool apart) {
        actors::gradient_settings settings{.micro_batch = how.micro_batch, .apart = apart};
        // Apart as a run does it; together as one did it: a wide model's chunks share out each operator.
        const bool shared = (!apart || !how.parameters.empty()) && !models::is_narrow(shape);
        settings.abreast = shared || how.device != "cpu" ? 1 : how.threads;
        settings.threads = how.threads / settings.abreast;
        models::use_threads(settings.threads);
        return bench::measure_milliseconds(at::Device(how.device), [&] {
            actors::step_gradients(
                model, settings, model.initial_adapter, {}, units,
                actors::make_dropout(key, 1, model.layout, at::Device(how.device)), [](const auto&) {},
                [](const auto&) {});
        });
    };
    std::vector<double> together, apart;
    time(true), time(false);
    for (int i = 0; i < how.rounds; ++i) {
        together.push_back(time(false));
        apart.push_back(time(true));
    }
    const auto median = [](std::vector<double> of) {
        std::nth_element(of.begin(), of.begin() + std::ssize(of) / 2, of.end());
        return of[of.size() / 2];
    };
    const auto least = [](const std::vector<double>& of) { return *std::min_element(of.begin(), of.end()); };
    fmt::print(
        "{} {} {} units of {} to {} tokens, micro-batch {}, {} threads: together {:.1f} ms ({:.1f}), apart "
        "{:.1f} ({:.1f}); apart to together {:.3f} of medians, {:.3f} of least\n",
        how.model, how.dtype, how.batch, how.shortest, how.longest, how.micro_batch, how.threads, median(together),
        least(together), median(apart), least(apart), median(apart) / median(together), least(apart) / least(together));
    return 0;
}

}  // namespace

int main(int argc, char** argv) try { return run(argc, argv); } catch (const std::exception& e) {
    std::fputs((std::string("bench: ") + e.what() + "\n").c_str(), stderr);
    return 2;
}

// What rounding moves, per arithmetic and batch size: nothing where units are computed apart (docs/privacy.md §6).
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "models/device.hpp"
#include "run/plan.hpp"
#include "run/rounding.hpp"

int main(int argc, char** argv) {
    CLI::App program("By how much one more unit moves the others' clipped sum, and what is charged for it (η)");
    std::string model = "config/tiny-gpt2", device = "cpu";
    std::vector<std::string> types = {"float32", "bfloat16"};
    std::vector<std::int64_t> batches = {16, 64, 256};
    std::vector<std::string> parameters;
    bool together = false;
    std::int64_t draws = 200, micro_batch = 16, longest = 64;
    program.add_option("model", model, "model directory");
    program.add_option("--dtype", types, "arithmetics: float32, tf32, bfloat16");
    program.add_option("--batch", batches, "units per draw");
    program.add_option("--parameters", parameters, "train.parameters: tensors that are trained whole, in float32");
    program.add_option("--draws", draws, "pairs of neighbouring draws");
    program.add_option("--micro-batch", micro_batch, "records per forward pass");
    program.add_option("--longest", longest, "tokens per record, at most");
    program.add_option("--device", device, "cpu or cuda");
    program.add_flag("--together", together, "in micro-batches also where a run would compute every unit apart");
    CLI11_PARSE(program, argc, argv);

    fmt::print("{}, {} draws and their neighbours each, records of up to {} tokens, micro-batch {}, {}\n", model, draws,
               longest, micro_batch, device);
    fmt::print("arithmetic  batch  largest move of the sum / C   of the statistics / Δ   η\n");
    for (const auto& type : types) {
        rldp::config::run_spec spec;
        spec.model.path = model;
        spec.model.dtype = rldp::parse_named<rldp::precision>(type);
        spec.device = device;
        if (!parameters.empty()) spec.parameters = parameters;
        const auto loaded = rldp::actors::load_model(spec);
        for (const auto batch : batches) {
            spec.train.expected_batch_size = batch;
            const double margin = rldp::actors::compute_rounding_margin(spec);
            const bool apart = !together && rldp::actors::computes_apart(spec);
            rldp::actors::company_probe probe(loaded.base, loaded.layout, apart, micro_batch, longest, 1);
            rldp::actors::rounding_effect worst;
            for (std::int64_t i = 0; i < draws; ++i)
                worst.raise(probe.compare(loaded.initial_adapter, static_cast<std::size_t>(batch)));
            fmt::print("{:<11} {:>5}  {:>27.2e}   {:>21.2e}   {:g}\n", type, batch, worst.gradient, worst.statistics,
                       margin);
        }
    }
}

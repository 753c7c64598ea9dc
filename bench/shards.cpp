// What it costs to share a base over ranks (model.shard), each a process of this machine: memory of a rank,
// milliseconds of a unit's forward and backward pass, and the share of them in which it waited for layers. A Llama of
// random numbers.
//
// Prints JSON.
//
//   OMP_NUM_THREADS=1 build/bench/bench_shards --ranks 1,2,4 --layers 16 --width 1024 --quantize nf4
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/output.hpp"
#include "bench/timing.hpp"
#include "models/architecture/family.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "models/unit_gradients.hpp"
#include "run/shared_base.hpp"
#include "tests/support/scratch_directory.hpp"

namespace {

using namespace rldp;

struct settings {
    std::vector<std::size_t> ranks = {1, 2, 4};
    std::int64_t layers = 16, width = 1024, length = 128;
    int passes = 6;
    std::string quantize = "none", model;
};

models::model_config describe_model(const settings& how) {
    models::model_config out;
    out.model_type = "llama";
    out.vocab = 4096;
    out.width = how.width;
    out.layers = how.layers;
    out.head_dim = 64;
    out.heads = out.kv_heads = how.width / out.head_dim;
    out.inner = how.width / 64 * 176;  // 2.75 times as wide
    out.window = how.length;
    out.activation = "silu";
    return out;
}

/// What is written by one, and read by all.
void write_model(const settings& how) {
    at::manual_seed(1);
    std::map<std::string, models::tensor_form> forms;
    for (const auto& [name, shape] : models::base_tensors(describe_model(how))) forms[name] = {at::kFloat, shape};
    models::save_safetensors(std::filesystem::path(how.model) / "model.safetensors", forms, [&](const auto& name) {
        const auto& shape = forms.at(name).shape;
        return shape.size() == 1 ? at::ones(shape) : 0.02 * at::randn(shape);
    });
}

/// Since the last call of forget_peak().
double peak_mebibytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
    return 0;
}

void forget_peak() {
    std::ofstream("/proc/self/clear_refs") << 5;
}

nlohmann::json measure(const settings& how, const models::causal_lm& model) {
    const auto& config = model.config();
    const auto cache = std::dynamic_pointer_cast<actors::layer_cache>(model.weights().elsewhere);
    const auto layout = models::make_layout(
        config, {.rank = 8, .alpha = 16, .dropout = 0, .targets = models::expand_targets(config, {"all-linear"})});
    const auto adapter = at::full({layout.dimension}, 0.01);
    models::sequence tokens;
    for (std::int64_t i = 0; i < how.length; ++i) tokens.push_back(static_cast<std::int32_t>(i * 7919 % config.vocab));
    const std::vector<models::unit_records> unit = {{tokens}};
    const auto pass = [&] { models::unit_gradients(model, layout, adapter, unit, {0}, {}); };
    const double reading = peak_mebibytes();
    pass();
    forget_peak();
    const auto before = cache ? cache->counted() : actors::layer_cache::tally{};
    const auto milliseconds = bench::measure_milliseconds(at::kCPU, [&] {
        for (int i = 0; i < how.passes; ++i) pass();
    });
    const auto after = cache ? cache->counted() : before;
    return {{"pass_ms", milliseconds / how.passes},
            {"waited", 1000 * (after.waited - before.waited).count() / milliseconds},
            {"layers_borrowed", static_cast<double>(after.layers - before.layers) / how.passes},
            {"peak_mib", peak_mebibytes()},
            {"peak_while_reading_mib", reading}};
}

/// One of several; rank 0 prints what all have measured.
void be_rank(const settings& how, const ranks::place& where) {
    ranks::team team(where, ranks::inherited_secret(where), std::chrono::seconds(60),
                     [](const std::string&) { _exit(1); });
    models::weights_reading reading{.quantize = models::to_block_type(parse_named<quantization>(how.quantize))};
    auto read = actors::load_shared(how.model, describe_model(how), at::kFloat, at::kCPU, reading, team);
    const auto model = models::causal_lm::from_weights(describe_model(how), std::move(read.weights));
    nlohmann::json all = nlohmann::json::array();
    for (const auto& said : team.exchange(measure(how, *model).dump())) all.push_back(nlohmann::json::parse(said));
    team.leave();
    if (where.rank == 0) say_text(nlohmann::json{{"ranks", where.ranks}, {"each", all}}.dump() + "\n");
}

void be_alone(const settings& how) {
    const models::weights_reading reading{.quantize = models::to_block_type(parse_named<quantization>(how.quantize))};
    auto read = models::load_weights(how.model, describe_model(how), at::kFloat, at::kCPU, reading);
    const auto model = models::causal_lm::from_weights(describe_model(how), std::move(read.weights));
    say_text(nlohmann::json{{"ranks", 1}, {"each", nlohmann::json::array({measure(how, *model)})}}.dump() + "\n");
}

std::vector<std::string> arguments_for(const settings& how) {
    return {"bench_shards",
            "--layers",
            std::to_string(how.layers),
            "--width",
            std::to_string(how.width),
            "--length",
            std::to_string(how.length),
            "--passes",
            std::to_string(how.passes),
            "--quantize",
            how.quantize,
            "--model",
            how.model};
}

}  // namespace

int main(int argc, char** argv) try {
    CLI::App program("What it costs to share a base over ranks, as JSON, a line for each number of ranks");
    settings how;
    program.add_option("--ranks", how.ranks, "a list")->delimiter(',')->capture_default_str();
    program.add_option("--layers", how.layers)->check(CLI::Range(1, 200))->capture_default_str();
    program.add_option("--width", how.width, "a multiple of 64")->check(CLI::Range(64, 16384))->capture_default_str();
    program.add_option("--length", how.length, "tokens of the unit")->check(CLI::Range(2, 8192))->capture_default_str();
    program.add_option("--passes", how.passes)->check(CLI::Range(1, 1000))->capture_default_str();
    program.add_option("--quantize", how.quantize, "as model.quantize")->capture_default_str();
    program.add_option("--model", how.model, "where a rank finds the model that was written for all");
    CLI11_PARSE(program, argc, argv);
    if (const auto where = ranks::place_from([](const char* name) { return std::getenv(name); })) {
        be_rank(how, *where);
        return 0;
    }
    if (!how.model.empty()) {
        be_alone(how);
        return 0;
    }
    const scratch_directory scratch;
    how.model = scratch.path().string();
    write_model(how);
    int status = 0;
    for (const auto count : how.ranks) {
        ranks::local_ranks processes{
            .ranks = count, .meshed = count > 1, .arguments = arguments_for(how), .attempts = 1};
        processes.say = [](const std::string& text) { say_text(text, stderr); };
        status = std::max(status, ranks::run_local_ranks(processes));
    }
    return status;
} catch (const std::exception& thrown) {
    fmt::print(stderr, "{}\n", thrown.what());
    return 1;
}

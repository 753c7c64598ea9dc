#include "models/research/pretrain.hpp"

#include "base/output.hpp"
#include "models/device.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "base/error.hpp"

namespace rldp::app {

namespace {

struct pretrain_arguments {
    std::string out;
    models::pretrain_config config;
    bool json = false;
};

int pretrain(const pretrain_arguments& given) {
    if (std::filesystem::exists(given.out)) refuse(given.out + ": exists already; choose another directory");
    models::reserve_blas_memory(models::default_threads());
    const auto every = std::max<std::int64_t>(1, given.config.steps / 20);
    const double perplexity = models::pretrain(given.config, given.out, [&](std::int64_t step, double loss) {
        if (step % every == 0) say(stderr, "step {} of {}  loss {:.3f}\n", step, given.config.steps, loss);
    });
    if (given.json)
        say("{}\n", nlohmann::json{{"model", given.out}, {"perplexity", perplexity}}.dump());
    else
        say("{}: held-out perplexity {:.3f} per token\n", given.out, perplexity);
    return 0;
}

}  // namespace

void add_pretrain(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "pretrain");
    auto given = std::make_shared<pretrain_arguments>();
    auto& config = given->config;
    command->add_option("out", given->out, "model directory to make")->required();
    command->add_option("--vocab", config.vocab, "tokens of the byte-level BPE vocabulary")
        ->capture_default_str()
        ->check(CLI::Range(258, 65536));
    command->add_option("--width", config.width, "hidden size")->capture_default_str()->check(CLI::Range(8, 4096));
    command->add_option("--layers", config.layers, "transformer blocks")
        ->capture_default_str()
        ->check(CLI::Range(1, 64));
    command->add_option("--heads", config.heads, "attention heads; divide the width")
        ->capture_default_str()
        ->check(CLI::Range(1, 64));
    command->add_option("--window", config.window, "longest sequence, tokens")
        ->capture_default_str()
        ->check(CLI::Range(8, 8192));
    command->add_option("--texts", config.texts, "passages of synthetic prose")
        ->capture_default_str()
        ->check(CLI::Range(100, 10000000));
    command->add_option("--steps", config.steps, "optimiser steps")
        ->capture_default_str()
        ->check(CLI::Range(1, 10000000));
    command->add_option("--batch", config.batch, "sequences per step")
        ->capture_default_str()
        ->check(CLI::Range(1, 4096));
    command->add_option("--lr", config.lr, "peak learning rate")->capture_default_str()->check(CLI::Range(1e-7, 1.0));
    command->add_option("--seed", config.seed, "of prose, initialisation and order")->capture_default_str();
    command->add_flag("--json", given->json, "print the result as JSON");
    command->footer("Example: rldp pretrain models/my-tiny-gpt2 --steps 500");
    command->callback([given, &chosen] { chosen = [given] { return pretrain(*given); }; });
}

}  // namespace rldp::app

#include "actors/inputs.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "config/error.hpp"
#include "models/blas.hpp"

namespace rldp::actors {

namespace {

/// `count` of `all`, the same for the same seed: partial Fisher–Yates shuffle.
std::vector<models::sequence> fixed_subset(std::vector<models::sequence> all, std::int64_t count, std::int64_t seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const auto keep = std::min(all.size(), static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < keep; ++i) std::swap(all[i], all[i + random() % (all.size() - i)]);
    all.resize(keep);
    return all;
}

std::string canary_list(const std::vector<data::unit>& units) {
    auto list = nlohmann::json::array();
    for (const auto& unit : units)
        if (unit.canary) list.push_back({{"unit", fmt::format("{:016x}", unit.id)}, {"canary", *unit.canary}});
    return list.dump(2);
}

}  // namespace

std::int64_t token_limit(const config::run_config& config, const models::model_config& model) {
    const auto limit = config.data.max_tokens.value_or(model.window);
    if (limit > model.window)
        refuse(fmt::format("data.max_tokens: {} is more than the window of {}, which is {} tokens; lower it", limit,
                           config.model.path, model.window));
    return limit;
}

models::lora_config lora_config_of(const config::run_config& config) {
    return {.rank = config.lora.rank,
            .alpha = config.lora.alpha,
            .dropout = config.lora.dropout,
            .targets = config.lora.targets};
}

at::Device device_of(const config::run_config& config) {
    if (config.device == "cuda" && !torch::cuda::is_available())
        refuse("device: cuda is asked for, but this LibTorch sees no CUDA device; use \"cpu\" or a CUDA LibTorch "
               "(CMAKE_PREFIX_PATH)");
    return at::Device(config.device);
}

run_data load_data(const config::run_config& config, const models::tokenizer& tokens, std::int64_t max_tokens) {
    const data::source from{.path = config.data.path,
                            .ids_mapping = config.data.ids_mapping,
                            .narrative = config.data.narrative,
                            .group = config.privacy.unit_is_group ? std::optional(config.privacy.unit) : std::nullopt};
    const data::split_rule split{
        .how = config.data.split == "exact" ? data::split_rule::kind::exact : data::split_rule::kind::hash,
        .seed = config.data.split_seed,
        .canaries = config.data.canaries,
        .population = config.privacy.population};
    auto corpus = data::load_corpus(from, split);

    const auto encode = [&](const std::string& text) { return tokens.encode(text); };
    const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    const bool tail = config.data.keep == "tail";
    auto train = data::tokenise(corpus.train, encode, max_tokens, tail, threads);
    const auto held_out = data::tokenise(corpus.eval, encode, max_tokens, tail, threads);

    run_data out;
    for (const auto& unit : held_out.units) out.eval.insert(out.eval.end(), unit.records.begin(), unit.records.end());
    if (config.train.eval_records)
        out.eval = fixed_subset(std::move(out.eval), *config.train.eval_records, config.data.split_seed);
    if (out.eval.empty())
        refuse(config.data.path + ": no record fell on the Eval side; give more records, or another data.split_seed");
    out.train = std::move(train.units);
    out.records = train.records;
    out.cut = train.cut;
    out.digest = std::move(corpus.digest);
    out.canaries = canary_list(corpus.train);
    out.warnings = std::move(corpus.warnings);
    return out;
}

run_model load_model(const config::run_config& config) {
    const auto dtype = config.model.dtype == "bfloat16" ? torch::kBFloat16 : torch::kFloat32;
    const auto device = device_of(config);
    run_model out;
    out.base = models::causal_lm::load(config.model.path, dtype, device);
    models::choose_blas_threads(out.base->config());
    out.layout = models::make_layout(out.base->config(), lora_config_of(config));
    out.initial_adapter = models::initial_adapter(out.layout, config.seed).to(device);
    return out;
}

}  // namespace rldp::actors

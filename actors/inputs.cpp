#include "actors/inputs.hpp"

#include <fmt/format.h>
#include <sodium.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <random>
#include <string_view>
#include <thread>
#include <unordered_set>

#include "config/error.hpp"
#include "models/blas.hpp"

namespace rldp::actors {

data::source public_source(const config::run_config& config) {
    return {.path = *config.clip.public_data,
            .ids_mapping = config.data.ids_mapping,
            .narrative = config.data.narrative,
            .group = std::nullopt};
}

namespace {

/// `count` of `all`, the same for the same seed: partial Fisher–Yates shuffle.
std::vector<models::sequence> fixed_subset(std::vector<models::sequence> all, std::int64_t count, std::int64_t seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const auto keep = std::min(all.size(), static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < keep; ++i) std::swap(all[i], all[i + random() % (all.size() - i)]);
    all.resize(keep);
    return all;
}

/// Errors: bad_input where a file that is called public holds records of the table that is to be protected.
void require_public(const std::string& path, const config::run_config& config, const data::corpus& table) {
    if (config.data.path.starts_with("synthetic:")) return;  // nobody's records
    const auto refuse_it = [&] {
        refuse(
            fmt::format("clip.public_data: {} shares records with data.path, whose records are to be protected; give "
                        "a file of others",
                        path));
    };
    std::error_code absent;
    if (std::filesystem::equivalent(path, config.data.path, absent)) refuse_it();
    const auto given = data::load_corpus(public_source(config), data::split_rule{});
    std::unordered_set<std::string_view> texts;
    for (const auto* side : {&given.train, &given.eval, &given.attack})
        for (const auto& unit : *side) texts.insert(unit.records.begin(), unit.records.end());
    for (const auto* side : {&table.train, &table.eval, &table.attack})
        for (const auto& unit : *side)
            for (const auto& record : unit.records)
                if (texts.contains(record)) refuse_it();
}

std::vector<eval::membership_record::planted_secret> planted_in(const std::vector<data::unit>& units) {
    std::vector<eval::membership_record::planted_secret> out;
    for (const auto& unit : units)
        if (unit.canary) out.push_back({fmt::format("{:016x}", unit.id), *unit.canary});
    return out;
}

}  // namespace

std::int64_t token_limit(const config::run_config& config, const models::model_config& model) {
    const auto limit = config.data.max_tokens.value_or(model.window);
    if (limit > model.window)
        refuse(fmt::format("data.max_tokens: {} is more than the window of {}, which is {} tokens; lower it", limit,
                           config.model.path, model.window));
    return limit;
}

models::lora_layout layout_of(const config::run_config& config, const models::model_config& model) {
    return models::make_layout(model, {.rank = config.lora.rank,
                                       .alpha = config.lora.alpha,
                                       .dropout = config.lora.dropout,
                                       .targets = models::expand_targets(model, config.lora.targets)});
}

at::Device device_of(const config::run_config& config) {
    if (config.device == "cuda" && !torch::cuda::is_available())
        refuse(
            "device: cuda is asked for, but this LibTorch sees no CUDA device; use \"cpu\" or a CUDA LibTorch "
            "(CMAKE_PREFIX_PATH)");
    return at::Device(config.device);
}

sided_records load_records(const config::run_config& config) {
    const data::source from{.path = config.data.path,
                            .ids_mapping = config.data.ids_mapping,
                            .narrative = config.data.narrative,
                            .group = config.privacy.unit_is_group ? std::optional(config.privacy.unit) : std::nullopt};
    const data::split_rule split{
        .how = config.data.split == "exact" ? data::split_rule::kind::exact : data::split_rule::kind::hash,
        .seed = config.data.split_seed,
        .canaries = config.data.canaries,
        .canary_length = config.data.canary_length,
        .max_records = config.privacy.max_records_per_unit,
        .population = config.privacy.population};
    sided_records out;
    out.corpus = data::load_corpus(from, split);
    if (config.clip.public_data) require_public(*config.clip.public_data, config, out.corpus);
    out.pool = data::choose_audit_pool(
        out.corpus, {.seed = split.seed, .targets = config.audit.targets, .canaries = config.audit.canaries});
    if (config.audit.shadow)
        out.corpus = data::shadow_of(std::move(out.corpus), out.pool, split.seed, *config.audit.shadow);
    return out;
}

run_data load_data(const config::run_config& config, const models::tokenizer& tokens, std::int64_t max_tokens) {
    auto [corpus, pool] = load_records(config);
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
    out.planted = planted_in(corpus.train);
    out.audit_canaries = data::tokenise(pool.canaries, encode, max_tokens, tail, threads).units;
    out.warnings = std::move(corpus.warnings);
    return out;
}

std::unique_ptr<const models::tokenizer> load_tokenizer(const std::filesystem::path& directory,
                                                        const models::model_config& model) {
    auto out = models::tokenizer::load(directory);
    if (out->size() > model.vocab)
        refuse(
            fmt::format("{}: the tokenizer gives ids up to {}, the model has embeddings up to {}; remove the added "
                        "tokens beyond, or use the tokenizer that the model was trained with",
                        directory.string(), out->size() - 1, model.vocab - 1));
    return out;
}

run_model load_model(const config::run_config& config) {
    const auto device = device_of(config);
    run_model out;
    out.base = models::causal_lm::load(config.model.path, models::use_precision(config.model.dtype, device), device);
    models::choose_threads(out.base->config());
    out.layout = layout_of(config, out.base->config());
    out.initial_adapter = models::initial_adapter(out.layout, config.seed).to(device);
    return out;
}

void check_gradients(const run_model& model, const std::string& path) {
    const auto& described = model.base->config();
    constexpr std::int64_t longest = 16;
    models::sequence tokens;
    for (std::int64_t i = 0; i < std::min(longest, described.window); ++i)
        tokens.push_back(static_cast<std::int32_t>((i * 7919 + 1) % described.vocab));
    const std::vector<models::unit_sequences> unit = {{tokens}};
    const auto made = models::unit_gradients(*model.base, model.layout, model.initial_adapter, unit, {0}, 1, {}, 0);
    const auto loss = made.losses.item<double>();
    if (!std::isfinite(loss))
        refuse(path + ": the model's loss is not finite; its weights are damaged, bring back the original files");
    std::int64_t offset = 0;
    for (const auto& pair : model.layout.pairs) {
        const auto norm = made.gradients[0].slice(0, offset, offset + pair.size).norm().item<double>();
        if (!(std::isfinite(norm) && norm > 0))
            refuse(fmt::format(
                "{}: the adapter on {} gets a gradient of norm {}; the weights are damaged, or lora.targets should "
                "leave it out",
                path, pair.module, norm));
        offset += pair.size;
    }
}

std::string model_digest(const std::filesystem::path& directory) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        const auto extension = entry.path().extension();
        const bool read =
            extension == ".json" || extension == ".safetensors" || extension == ".model" || extension == ".txt";
        if (read && entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    crypto_generichash_state hash;
    crypto_generichash_init(&hash, nullptr, 0, crypto_generichash_BYTES);
    const auto add = [&](std::string_view bytes) {
        crypto_generichash_update(&hash, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    };
    std::vector<char> block(1 << 20);
    for (const auto& path : files) {
        std::ifstream file(path, std::ios::binary);
        if (!file) refuse(path.string() + ": can't be read");
        add(path.filename().string() + fmt::format("\n{}\n", std::filesystem::file_size(path)));
        while (file.read(block.data(), std::ssize(block)), file.gcount() > 0)
            add({block.data(), static_cast<std::size_t>(file.gcount())});
    }
    std::array<unsigned char, crypto_generichash_BYTES> digest;
    crypto_generichash_final(&hash, digest.data(), digest.size());
    std::array<char, 2 * crypto_generichash_BYTES + 1> hex;
    return sodium_bin2hex(hex.data(), hex.size(), digest.data(), digest.size());
}

}  // namespace rldp::actors

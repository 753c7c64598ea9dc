#include "actors/run/public_radii.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "actors/run/method.hpp"
#include "config/base/error.hpp"
#include "data/units/corpus.hpp"
#include "models/adamw.hpp"
#include "models/tokenizer/tokenizer.hpp"
#include "models/unit_gradients.hpp"
#include "privacy/mechanism/clipping.hpp"

namespace rldp::actors {

namespace {

/// Every public record, a unit each.
std::vector<std::vector<models::sequence>> public_units(const config::run_config& config, const run_model& model) {
    const auto corpus = data::load_corpus(public_source(config), data::split_rule{});
    const auto tokens = load_tokenizer(config.model.path, model.base->config());
    const auto encode = [&](const std::string& text) { return tokens->encode(text); };
    std::vector<std::vector<models::sequence>> units;
    for (const auto* side : {&corpus.train, &corpus.eval}) {
        const auto read =
            data::tokenise(*side, encode, token_limit(config, model.base->config()), config.data.keep == "tail", 1);
        for (const auto& unit : read.units) units.push_back(unit.records);
    }
    return units;
}

}  // namespace

std::vector<double> public_radii(const config::run_config& config, const run_model& model) {
    const auto read = public_units(config, model);
    const auto units = models::views_of(read);
    const auto batch = static_cast<std::size_t>(config.train.expected_batch_size);
    if (units.size() < batch)
        refuse(fmt::format("clip.public_data: {} has {} records to train on, fewer than one batch of {}; give more",
                           *config.clip.public_data, units.size(), batch));
    const auto segments = segments_of(config, model.layout);
    models::adamw optimizer(model.initial_adapter);
    std::vector<at::Tensor> norms;
    std::size_t next = 0;
    for (std::int64_t step = 0; step < std::max<std::int64_t>(1, config.rl.warmup); ++step) {
        std::vector<models::unit_records> drawn;
        for (std::size_t i = 0; i < batch; ++i) drawn.push_back(units[next++ % units.size()]);
        auto sum = at::zeros_like(model.initial_adapter);
        for (const auto& chunk : models::plan_chunks(drawn, config.train.micro_batch)) {
            const auto made = models::unit_gradients(*model.base, model.layout, optimizer.parameters(), drawn, chunk,
                                                     config.train.micro_batch, {}, 0);
            norms.push_back(privacy::group_norms(made.gradients, segments).norms.cpu());
            sum += made.gradients.sum(0);
        }
        optimizer.step(sum / static_cast<double>(batch), config.train.lr);
    }
    const auto medians = std::get<0>(at::cat(norms).median(0)).contiguous();
    return {medians.data_ptr<double>(), medians.data_ptr<double>() + medians.numel()};
}

}  // namespace rldp::actors

#include "actors/run/public_lessons.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "actors/run/held_out.hpp"
#include "actors/run/lessons_file.hpp"
#include "actors/run/method.hpp"
#include "actors/run/step_gradients.hpp"
#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "config/method_choices.hpp"
#include "config/open_keys.hpp"
#include "data/units/load_tokens.hpp"
#include "eval/held_out.hpp"
#include "models/adamw.hpp"
#include "models/lora/subspace.hpp"
#include "models/unit_gradients.hpp"
#include "privacy/keys/digest.hpp"
#include "privacy/mechanism/clipping.hpp"
#include "version.hpp"

namespace rldp::actors {

namespace {

/// Every public record, a unit each; its values marked where the loss weighs them.
std::vector<std::vector<models::sequence>> public_units(const config::run_config& config, const run_model& model) {
    const auto words = load_tokenizer(config, model.base->config());
    data::split_rule all_on_one_side;
    all_on_one_side.attack = all_on_one_side.eval = 0;
    const auto read = data::load_tokens(
        public_source(config), all_on_one_side,
        {.encode = [&](const std::string& text) { return words->encode(text); },
         .max_tokens = token_limit(config, model.base->config()),
         .keep_tail = config.data.keep == "tail",
         .mark = [&](const data::record& told, std::vector<std::int32_t>& ids) { mark_values(told, *words, ids); },
         .mark_training = marks_training(config)});
    std::vector<std::vector<models::sequence>> units;
    for (std::size_t u = 0; u < read.train.size(); ++u)
        for (const auto& record : read.train[u].records) units.push_back({{record.begin(), record.end()}});
    if (units.empty())
        refuse(fmt::format("public.path: {} has no record to train on; give more", *config.public_data.path));
    if (config.data.chat && std::none_of(units.begin(), units.end(), has_answer))
        refuse(fmt::format("public.path: {} has no conversation with an answer that is kept; raise data.max_tokens",
                           *config.public_data.path));
    return units;
}

constexpr std::ptrdiff_t sample_size = 64;

double rate_of(const config::run_config& config) {
    return config.public_data.lr ? *config.public_data.lr : config::chosen(config.train.lr, "train.lr");
}

using on_gradients = std::function<void(const at::Tensor& unit_gradients)>;

/// The adapter after training on batches of the records in their order; `see` gets all unit gradients, [b, D].
at::Tensor train(const config::run_config& config, const run_model& model,
                 const std::vector<std::vector<models::sequence>>& held, const on_gradients& see) {
    const auto units = models::views_of(held);
    const auto batch = std::min(static_cast<std::size_t>(config::batch_of(config)), units.size());
    const models::chunk_rule how{.micro_batch = config::micro_batch_of(config),
                                 .value_weight = config::choices_of(config).value_weight,
                                 .answers_only = config.data.chat,
                                 .between = activations_of(config)};
    models::adamw optimizer(model.initial_adapter);
    const double rate = rate_of(config);
    std::size_t next = 0;
    for (std::int64_t step = 0; step < config.public_data.steps; ++step) {
        std::vector<models::unit_records> drawn;
        for (std::size_t i = 0; i < batch; ++i) drawn.push_back(units[next++ % units.size()]);
        auto sum = at::zeros_like(model.initial_adapter);
        for (const auto& chunk : models::plan_chunks(drawn, how.micro_batch)) {
            const auto made =
                models::unit_gradients(*model.base, model.layout, optimizer.parameters(), drawn, chunk, how);
            see(made.gradients);
            sum += made.gradients.sum(0);
        }
        optimizer.step(sum / static_cast<double>(batch), rate);
        if (!optimizer.parameters().isfinite().all().item<bool>())
            refuse(
                fmt::format("public.path: training on {} diverged at batch {} of {}; lower public.lr, or look for a "
                            "record that overflows",
                            *config.public_data.path, step + 1, config.public_data.steps));
    }
    return optimizer.parameters();
}

std::vector<double> medians_of(const std::vector<at::Tensor>& norms) {
    const auto medians = std::get<0>(at::cat(norms).median(0)).contiguous();
    return {medians.data_ptr<double>(), medians.data_ptr<double>() + medians.numel()};
}

}  // namespace

models::lora_layout layout_once_taught(const config::run_config& config, models::lora_layout layout) {
    if (!config.public_data.used_for("subspace")) return layout;
    const auto count = config.public_data.directions;
    for (const auto& pair : layout.pairs)
        if (count > models::most_directions(pair))
            refuse(fmt::format("public.directions: {} is more than the {} of {}; give at most as many", count,
                               models::most_directions(pair), pair.module));
    return models::narrowed(std::move(layout), count);
}

namespace {

run_model teach(const config::run_config& config, run_model model,
                const std::vector<std::vector<models::sequence>>& units) {
    const auto& use = config.public_data;
    const bool coordinates = use.changes_coordinates(), radii = use.used_for("radii");
    models::main_directions directions(model.layout);
    const auto first = units.end() - std::min<std::ptrdiff_t>(std::ssize(units), sample_size);
    std::for_each(first, units.end(), [&](const auto& unit) { model.public_sample.push_back(unit.front()); });
    if (use.use == std::vector<std::string>{"choose"}) return model;
    std::vector<at::Tensor> norms;
    const auto see_norms = [&](const models::lora_layout& layout) {
        return [&norms, segments = segments_of(config, layout)](const at::Tensor& gradients) {
            norms.push_back(privacy::group_norms(gradients, segments).norms.cpu());
        };
    };
    const auto measured = see_norms(model.layout);
    const auto trained = train(config, model, units, [&](const at::Tensor& gradients) {
        if (coordinates) directions.add(gradients);
        if (radii && !coordinates) measured(gradients);
    });
    if (use.used_for("warm_start")) model.initial_adapter = trained;
    if (coordinates) {
        const auto count = use.used_for("subspace") ? std::optional(use.directions) : std::nullopt;
        model.layout = models::in_subspace(
            model.layout, model.initial_adapter,
            directions.largest(count, use.used_for("precondition"), model.initial_adapter.device()));
        model.initial_adapter = at::zeros({model.layout.dimension}, model.initial_adapter.options());
        if (radii) train(config, model, units, see_norms(model.layout));  // the norms of what is left of gradients
    }
    if (radii) model.public_norms = medians_of(norms);
    return model;
}

/// Of all that lessons depend on, in hex.
std::string name_of_lessons(const config::run_config& config, const std::string& model,
                            const std::vector<std::vector<models::sequence>>& units) {
    auto used = nlohmann::json::parse(config::to_json(config));
    auto& train = used["train"];
    nlohmann::json text = {{"version", RLDP_VERSION},
                           {"public", used["public"]},
                           {"lora", used["lora"]},
                           {"model", model},
                           {"dtype", used["model"]["dtype"]},
                           {"groups", config.public_data.used_for("radii") ? config::choices_of(config).groups : ""},
                           {"batch", train["expected_batch_size"]},
                           {"micro_batch", train["micro_batch"]},
                           {"rate", rate_of(config)},
                           {"value_weight", train["value_weight"]},
                           {"sample", sample_size},
                           {"seed", config.seed}};
    std::string records;
    for (const auto& unit : units)
        for (const auto& record : unit) {
            records.append(reinterpret_cast<const char*>(record.data()), record.size() * sizeof(record.front()));
            records.append("\xff\xff\xff\xff");  // no token
        }
    return privacy::sha256(text.dump() + privacy::sha256(records));
}

/// Nats of the public sample under an adapter: per token, or per record on its values where the loss weighs those.
double nats_of_sample(const run_model& model, const config::run_config& config, const at::Tensor& adapter) {
    const auto found =
        eval::score_held_out(*model.base, &model.layout, &adapter, model.public_sample,
                             {.batch = config::micro_batch_of(config), .answers_only = config.data.chat});
    return found.value_nats.value_or(std::log(found.perplexity));
}

}  // namespace

iterate_choice choice_of(const config::run_config& config, const run_model& model) {
    if (!config.public_data.used_for("choose")) return {};
    return [model, config](const at::Tensor& last, const at::Tensor& average) {
        const auto nats = [&](const at::Tensor& adapter) { return nats_of_sample(model, config, adapter); };
        return !(nats(average) <= nats(last));  // also where the average is no number
    };
}

public_probe probe_of(const config::run_config& config, const run_model& model) {
    if (!config.rl.online) return {};
    return [model, config](const at::Tensor& adapter) {
        constexpr double least = 1e-6, most = 1e6;  // a run that diverges ends elsewhere, and by name
        const double nats = nats_of_sample(model, config, adapter);
        return std::log(nats < most ? std::max(nats, least) : most);  // also where it is no number
    };
}

run_model taught(const config::run_config& config, run_model model,
                 const std::optional<std::filesystem::path>& shared) {
    if (!config.public_data.path) return model;
    layout_once_taught(config, model.layout);  // errors come before the work
    const auto units = public_units(config, model);
    if (!shared) return teach(config, std::move(model), units);
    const auto depends_on = name_of_lessons(config, model.digest, units);
    const auto file = *shared / (depends_on + ".safetensors");
    const auto seal = privacy::file_seal::checksum(depends_on);
    if (std::filesystem::exists(file)) try {
            return recalled(config, model, file, seal);
        } catch (const storage_error&) {
            throw;
        } catch (const error&) {
            refuse(file.string() + ": is damaged; delete it, and it is made again");
        }
    model = teach(config, std::move(model), units);
    make_directory(*shared);
    const auto own = *shared / fmt::format("{}.{}", depends_on, getpid());  // several processes may learn the same
    write_lessons(own, model, seal);
    put_in_place(own, file);
    return model;
}

}  // namespace rldp::actors

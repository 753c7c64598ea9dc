#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "data/units/load_tokens.hpp"
#include "eval/held_out.hpp"
#include "models/adamw.hpp"
#include "models/unit_gradients.hpp"
#include "privacy/keys/digest.hpp"
#include "privacy/mechanism/clipping.hpp"
#include "run/checkpoint.hpp"
#include "run/factories.hpp"
#include "run/public_training.hpp"
#include "run/record_tokens.hpp"
#include "run/step_gradients.hpp"
#include "version.hpp"

namespace rldp::actors {

namespace {

const std::string lessons_kind = "lessons";

}  // namespace

void write_lessons(const std::filesystem::path& path, const run_model& taught, const privacy::file_seal& seal) {
    sealed_tensors out;
    out.tensors["initial_adapter"] = taught.initial_adapter;
    out.tensors["public_norms"] = at::tensor(taught.public_norms, at::kDouble);
    std::vector<std::int64_t> tokens, lengths;
    for (const auto& one : taught.public_sample) {
        tokens.insert(tokens.end(), one.begin(), one.end());
        lengths.push_back(std::ssize(one));
    }
    out.tensors["sample_tokens"] = at::tensor(tokens, at::kLong);
    out.tensors["sample_lengths"] = at::tensor(lengths, at::kLong);
    write_sealed(path, lessons_kind, std::move(out), seal);
}

run_model read_lessons(run_model model, const std::filesystem::path& path, const privacy::file_seal& seal) {
    const auto read = read_sealed(path, lessons_kind, seal);
    const auto device = model.initial_adapter.device();
    model.initial_adapter = read.tensors.at("initial_adapter").to(device);
    const auto norms = read.tensors.at("public_norms");
    model.public_norms.assign(norms.data_ptr<double>(), norms.data_ptr<double>() + norms.numel());
    const auto &tokens = read.tensors.at("sample_tokens"), &lengths = read.tensors.at("sample_lengths");
    const auto* next = tokens.data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < lengths.numel(); ++i) {
        const auto* end = next + lengths.data_ptr<std::int64_t>()[i];
        model.public_sample.emplace_back(next, end);
        next = end;
    }
    return model;
}

namespace {

/// Every public record, a unit each; its values marked where the loss weighs them.
std::vector<std::vector<models::sequence>> public_units(const config::reading_spec& spec, const run_model& model) {
    const auto words = load_tokenizer(spec, model.base->config());
    data::split_rule all_on_one_side;
    all_on_one_side.attack = all_on_one_side.eval = 0;
    const auto read =
        data::load_tokens(public_source(spec), all_on_one_side,
                          {.encode = [&](const std::string& text) { return words->encode(text); },
                           .max_tokens = token_limit(spec, model.base->config()),
                           .keep_tail = spec.data.keep == kept_end::tail,
                           .mark = [&](const data::record& rendered,
                                       std::vector<std::int32_t>& ids) { mark_values(rendered, *words, ids); },
                           .mark_training = spec.marks_training()});
    std::vector<std::vector<models::sequence>> units;
    for (std::size_t u = 0; u < read.train.size(); ++u)
        for (const auto& record : read.train[u].records) units.push_back({{record.begin(), record.end()}});
    if (std::none_of(units.begin(), units.end(), [](const auto& unit) { return unit.front().size() > 1; }))
        refuse(fmt::format("public.path: {} has no record to train on; give more", *spec.public_path));
    if (spec.data.chat && std::none_of(units.begin(), units.end(), has_answer))
        refuse(fmt::format("public.path: {} has no conversation with an answer that is kept; raise data.max_tokens",
                           *spec.public_path));
    return units;
}

constexpr std::ptrdiff_t sample_size = 64;

using on_gradients = std::function<void(const at::Tensor& unit_gradients)>;

/// Rows that are made up of the template are as many as one likes, so each is seen once.
std::size_t choose_batch(const config::run_spec& spec, std::size_t units) {
    const auto steps = static_cast<std::size_t>(spec.train.public_steps);
    return is_of_template(*spec.public_path)
               ? (units + steps - 1) / steps
               : std::min(static_cast<std::size_t>(spec.train.expected_batch_size), units);
}

/// The adapter after training on batches of the records in their order; `see` gets all unit gradients, [b, D].
at::Tensor train(const config::run_spec& spec, const run_model& model,
                 const std::vector<std::vector<models::sequence>>& held, const on_gradients& see) {
    const auto units = models::view_units(held);
    const auto batch = choose_batch(spec, units.size());
    const models::chunk_rule how{.micro_batch = spec.train.micro_batch,
                                 .value_weight = spec.value_weight,
                                 .answers_only = spec.data.chat,
                                 .between = choose_activations(spec)};
    models::adamw optimizer(model.initial_adapter);
    std::size_t next = 0;
    for (std::int64_t step = 0; step < spec.train.public_steps; ++step) {
        std::vector<models::unit_records> drawn;
        for (std::size_t i = 0; i < batch; ++i) drawn.push_back(units[next++ % units.size()]);
        auto sum = at::zeros_like(model.initial_adapter);
        for (const auto& chunk : models::plan_chunks(drawn, how.micro_batch)) {
            const auto made =
                models::unit_gradients(*model.base, model.layout, optimizer.parameters(), drawn, chunk, how);
            see(made.gradients);
            sum += made.gradients.sum(0);
        }
        optimizer.step(sum / static_cast<double>(batch), spec.train.public_lr);
        if (!optimizer.parameters().isfinite().all().item<bool>())
            refuse(
                fmt::format("public.path: training on {} diverged at batch {} of {}; lower public.lr, or look for a "
                            "record that overflows",
                            *spec.public_path, step + 1, spec.train.public_steps));
    }
    return optimizer.parameters();
}

std::vector<double> compute_medians(const std::vector<at::Tensor>& norms) {
    const auto medians = std::get<0>(at::cat(norms).median(0)).contiguous();
    return {medians.data_ptr<double>(), medians.data_ptr<double>() + medians.numel()};
}

/// The last ones that predict something, in their order.
std::vector<models::sequence> choose_sample(const config::run_spec& spec,
                                            const std::vector<std::vector<models::sequence>>& units) {
    std::vector<models::sequence> out;
    for (auto unit = units.rbegin(); unit != units.rend() && std::ssize(out) < sample_size; ++unit)
        if (spec.data.chat ? has_answer(*unit) : unit->front().size() > 1) out.push_back(unit->front());
    std::reverse(out.begin(), out.end());
    return out;
}

run_model train_adapter(const config::run_spec& spec, run_model model,
                        const std::vector<std::vector<models::sequence>>& units) {
    const bool radii = spec.uses_public(public_use::radii);
    model.public_sample = choose_sample(spec, units);
    if (spec.public_uses == std::vector{public_use::choose}) return model;
    std::vector<at::Tensor> norms;
    const auto segments = make_segments(spec.clip.groups, model.layout);
    const auto trained = train(spec, model, units, [&](const at::Tensor& gradients) {
        if (radii) norms.push_back(privacy::group_norms(gradients, segments).norms.cpu());
    });
    if (spec.uses_public(public_use::warm_start)) model.initial_adapter = trained;
    if (radii) model.public_norms = compute_medians(norms);
    return model;
}

/// Of all that lessons depend on, in hex.
std::string name_of_lessons(const config::run_spec& spec, const std::string& model,
                            const std::vector<std::vector<models::sequence>>& units) {
    auto used = nlohmann::json::parse(config::to_json(spec.config));
    auto& train = used["train"];
    nlohmann::json text = {{"version", RLDP_VERSION},
                           {"public", used["public"]},
                           {"lora", used["lora"]},
                           {"model", model},
                           {"dtype", used["model"]["dtype"]},
                           {"quantize", used["model"]["quantize"]},  // of which the digest above knows nothing
                           {"groups", spec.uses_public(public_use::radii) ? name_of(spec.clip.groups) : ""},
                           {"batch", train["expected_batch_size"]},
                           {"micro_batch", train["micro_batch"]},
                           {"rate", spec.train.public_lr},
                           {"value_weight", train["value_weight"]},
                           {"sample", sample_size},
                           {"seed", spec.seed}};
    std::string records;
    for (const auto& unit : units)
        for (const auto& record : unit) {
            records.append(reinterpret_cast<const char*>(record.data()), record.size() * sizeof(record.front()));
            records.append("\xff\xff\xff\xff");  // no token
        }
    return privacy::sha256(text.dump() + privacy::sha256(records));
}

/// Nats of the public sample under an adapter: per token, or per record on its values where the loss weighs those.
double nats_of_sample(const run_model& model, const config::run_spec& spec, const at::Tensor& adapter) {
    const auto found = eval::score_held_out(*model.base, &model.layout, &adapter, model.public_sample,
                                            {.batch = spec.train.micro_batch, .answers_only = spec.data.chat});
    return found.value_nats.value_or(std::log(found.perplexity));
}

}  // namespace

iterate_choice make_iterate_choice(const config::run_spec& spec, const run_model& model) {
    if (!spec.uses_public(public_use::choose)) return {};
    return [model, spec](const at::Tensor& last, const at::Tensor& average) {
        const auto nats = [&](const at::Tensor& adapter) { return nats_of_sample(model, spec, adapter); };
        return !(nats(average) <= nats(last));  // also where the average is no number
    };
}

public_probe make_public_probe(const config::run_spec& spec, const run_model& model) {
    if (!spec.controller.online) return {};
    return [model, spec](const at::Tensor& adapter) {
        constexpr double least = 1e-6, most = 1e6;  // a run that diverges ends elsewhere, and by name
        const double nats = nats_of_sample(model, spec, adapter);
        return std::log(nats < most ? std::max(nats, least) : most);  // also where it is no number
    };
}

run_model train_on_public(const config::run_spec& spec, run_model model,
                          const std::optional<std::filesystem::path>& shared) {
    if (!spec.public_path) return model;
    const auto units = public_units(spec, model);
    if (!shared) return train_adapter(spec, std::move(model), units);
    const auto depends_on = name_of_lessons(spec, model.digest, units);
    const auto file = *shared / (depends_on + ".safetensors");
    const auto seal = privacy::file_seal::checksum(depends_on);
    if (std::filesystem::exists(file)) try {
            return read_lessons(model, file, seal);
        } catch (const storage_error&) {
            throw;
        } catch (const error&) {
            refuse(file.string() + ": is damaged; delete it, and it is made again");
        }
    model = train_adapter(spec, std::move(model), units);
    make_directory(*shared);
    const auto own = *shared / fmt::format("{}.{}", depends_on, getpid());  // several processes may learn the same
    write_lessons(own, model, seal);
    put_in_place(own, file);
    return model;
}

}  // namespace rldp::actors

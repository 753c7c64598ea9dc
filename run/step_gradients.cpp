#include <ATen/ATen.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <future>
#include <semaphore>
#include <utility>

#include "base/error.hpp"
#include "base/system.hpp"
#include "models/device.hpp"
#include "models/lora/dropout.hpp"
#include "models/marked_token.hpp"
#include "models/thread_count.hpp"
#include "privacy/keys/digest.hpp"
#include "run/step_gradients.hpp"

namespace rldp::actors {

namespace {

class kept_parts final : public privacy::gradient_parts {
  public:
    explicit kept_parts(models::factored_gradients gradients) : gradients_(std::move(gradients)) {
        for (const auto& tensor : gradients_.tensors()) sizes_.push_back(tensor.size);
    }
    std::int64_t units() const override { return gradients_.units(); }
    const std::vector<std::int64_t>& sizes() const override { return sizes_; }
    at::Tensor norm_bounds() const override { return gradients_.norm_bounds(); }
    void show(const std::vector<bool>& wanted, const viewer& see) const override { gradients_.each(wanted, see); }

  private:
    models::factored_gradients gradients_;
    std::vector<std::int64_t> sizes_;
};

class joined_parts final : public privacy::gradient_parts {
  public:
    explicit joined_parts(std::vector<std::shared_ptr<const privacy::gradient_parts>> several)
        : several_(std::move(several)) {
        for (const auto& each : several_) units_ += each->units();
    }
    std::int64_t units() const override { return units_; }
    const std::vector<std::int64_t>& sizes() const override { return several_.front()->sizes(); }
    at::Tensor norm_bounds() const override {
        std::vector<at::Tensor> all;
        for (const auto& each : several_) all.push_back(each->norm_bounds());
        return at::cat(all);
    }
    void show(const std::vector<bool>& wanted, const viewer& see) const override {
        std::int64_t first = 0;
        for (const auto& each : several_) {
            const std::vector<bool> own(wanted.begin() + static_cast<std::ptrdiff_t>(first),
                                        wanted.begin() + static_cast<std::ptrdiff_t>(first + each->units()));
            each->show(own, [&](std::int64_t unit, std::int64_t offset, const at::Tensor& numbers) {
                see(first + unit, offset, numbers);
            });
            first += each->units();
        }
    }

  private:
    std::vector<std::shared_ptr<const privacy::gradient_parts>> several_;
    std::int64_t units_ = 0;
};

}  // namespace

std::shared_ptr<const privacy::gradient_parts> as_parts(models::factored_gradients gradients) {
    return std::make_shared<kept_parts>(std::move(gradients));
}

std::shared_ptr<const privacy::gradient_parts> joined(
    std::vector<std::shared_ptr<const privacy::gradient_parts>> several) {
    return std::make_shared<joined_parts>(std::move(several));
}

models::dropout_factory make_dropout(const privacy::run_key& key, std::uint64_t seq, const models::lora_layout& layout,
                                     at::Device device) {
    const double p = layout.config.dropout;
    if (p == 0) return {};
    const auto seeds = std::make_shared<const privacy::record_seeds>(key, seq);
    return [seeds, p, device](std::span<const models::token_span> records) -> models::dropout_source {
        std::vector<models::mask_seed> named;
        for (const auto& record : records) {
            const auto words = (*seeds)(record);
            named.push_back({words[0], words[1]});
        }
        return models::dropout_masks(std::move(named), p, device);
    };
}

namespace {

/// A step's work: the units drawn, in chunks.
struct step_work {
    std::vector<models::unit_records> units;
    std::vector<std::vector<std::size_t>> chunks;
    std::size_t dummies = 0;  ///< units at the end that stand for nobody
};

/// Dummies where fewer units were drawn than there is room for. A larger draw, which the plan's δ pays for, takes
/// longer.
void pad(step_work& work, const padding& to) {
    const auto filled = std::max(work.units.size(), static_cast<std::size_t>(to.units));
    work.dummies = filled - work.units.size();
    work.units.resize(filled);
}

std::optional<models::unit_shape> find_shape(const std::optional<padding>& padded) {
    return padded ? std::optional(padded->shape) : std::nullopt;
}

step_work plan_work(std::vector<models::unit_records> units, const gradient_settings& how) {
    step_work out;
    out.units = std::move(units);
    if (how.padded) pad(out, *how.padded);
    const auto together = how.apart ? 1 : how.micro_batch;
    out.chunks = how.padded ? models::plan_padded_chunks(out.units.size(), how.padded->shape, together)
                            : models::plan_chunks(out.units, together);
    return out;
}

/// A step's computation of one chunk after the other, or of several at a time.
struct chunk_worker {
    const run_model& model;
    const gradient_settings& how;
    const at::Tensor& adapter;
    const std::vector<at::Tensor>& probes;
    const step_work& work;
    const models::dropout_factory& dropout;
    const on_failed_unit& failed;

    /// Errors: whatever made-up tokens provoke too, and exhausted memory.
    privacy::unit_gradients operator()(std::size_t i) const {
        auto out = computed(i);
        const auto& units = work.chunks[i];
        out.dummies = std::count_if(units.begin(), units.end(),
                                    [&](auto unit) { return unit >= work.units.size() - work.dummies; });
        return out;
    }

  private:
    privacy::unit_gradients computed(std::size_t i) const {
        try {
            return made(work.chunks[i]);
        } catch (const std::exception& reason) {
            if (is_shortage(reason)) throw;
            check_gradients({model.base, model.layout, adapter}, "the model");
        }
        if (model.layout.trains_base()) return tensors_one_by_one(work.chunks[i]);
        return one_by_one(work.chunks[i]);
    }

    privacy::unit_gradients made(const std::vector<std::size_t>& units) const {
        const models::chunk_rule rule{how.micro_batch, find_shape(how.padded), how.value_weight, how.answers_only,
                                      how.between};
        privacy::unit_gradients out;
        if (model.layout.trains_base()) {
            auto whole = models::compute_tensor_gradients(*model.base, model.layout, adapter, work.units, units, rule);
            out.parts = as_parts(std::move(whole.gradients));
            out.losses = whole.losses;
        } else {
            auto rows = models::unit_gradients(*model.base, model.layout, adapter, work.units, units, rule, dropout);
            out.gradients = rows.gradients;
            out.losses = rows.losses;
        }
        std::vector<at::Tensor> losses{out.losses};
        for (const auto& at : probes)
            losses.push_back(models::unit_losses(*model.base, model.layout, at, work.units, units, rule));
        out.losses = at::stack(losses, 1).cpu();
        return out;
    }

    /// Each unit alone; zeros for one that fails.
    privacy::unit_gradients one_by_one(const std::vector<std::size_t>& units) const {
        const auto rows = std::ssize(units);
        privacy::unit_gradients out{at::zeros({rows, model.layout.dimension}, adapter.options()), no_losses(rows)};
        each_alone(units, [&](std::int64_t row, const privacy::unit_gradients& alone) {
            out.gradients[row].copy_(alone.gradients[0]);
            out.losses[row].copy_(alone.losses[0]);
        });
        return out;
    }

    privacy::unit_gradients tensors_one_by_one(const std::vector<std::size_t>& units) const {
        const auto rows = std::ssize(units);
        privacy::unit_gradients out{{}, no_losses(rows)};
        const models::factored_gradients nothing(model.layout.tensors,
                                                 std::vector<models::backward_factors>(model.layout.tensors.size()), 1);
        std::vector<std::shared_ptr<const privacy::gradient_parts>> parts(units.size(), as_parts(nothing));
        each_alone(units, [&](std::int64_t row, const privacy::unit_gradients& alone) {
            parts[static_cast<std::size_t>(row)] = alone.parts;
            out.losses[row].copy_(alone.losses[0]);
        });
        out.parts = joined(std::move(parts));
        return out;
    }

    at::Tensor no_losses(std::int64_t rows) const {
        return at::full({rows, 1 + std::ssize(probes)}, std::nan(""), at::kDouble);
    }

    template <class Take>
    void each_alone(const std::vector<std::size_t>& units, Take take) const {
        for (std::int64_t row = 0; row < std::ssize(units); ++row) {
            const auto unit = units[static_cast<std::size_t>(row)];
            try {
                take(row, made({unit}));
            } catch (const std::exception& reason) {
                if (is_shortage(reason)) throw;
                failed(reason);
            }
        }
    }
};

void go_on(const gradient_settings& how) {
    if (how.stop.stop_requested()) throw error(errc::interrupted, "the step was given up");
}

}  // namespace

models::activations choose_activations(const config::reading_spec& spec) {
    return spec.model.checkpoint_activations ? models::activations::recomputed : models::activations::kept;
}

gradient_settings make_gradient_settings(const config::run_spec& spec, const run_model& model) {
    const auto lanes = choose_lanes(spec, model.base->config(), spec.train.expected_batch_size, spec.train.micro_batch);
    return {.micro_batch = lanes.micro_batch,
            .apart = computes_apart(spec),
            .abreast = lanes.abreast,
            .threads = lanes.threads,
            .value_weight = spec.value_weight,
            .answers_only = spec.data.chat,
            .between = choose_activations(spec)};
}

bool is_long_step(const run_plan& plan, std::int64_t parameters) {
    // Two operations for each number of the model and each token forwards, four backwards.
    constexpr double operations = 1e11;
    const double units = plan.sample_rate * static_cast<double>(plan.population);
    const double tokens = units * static_cast<double>(plan.max_records_per_unit * plan.max_tokens);
    return 6 * tokens * static_cast<double>(parameters) > operations;
}

gradient_settings make_gradient_settings(const config::run_spec& spec, const run_plan& plan, const run_model& model,
                                         std::size_t ranks) {
    auto out = make_gradient_settings(spec, model);
    out.ranks = ranks;
    if (plan.padded) out.padded = padding_of_rank(*plan.padded, spec, ranks);
    return out;
}

gradient_settings make_gradient_settings(const session& run, std::size_t ranks) {
    return make_gradient_settings(run.spec, run.plan, run.model, ranks);
}

models::sequence make_up_record(std::int64_t length, std::int64_t first, const run_model& model) {
    models::sequence out;
    for (std::int64_t i = 0; i < length; ++i)
        out.push_back(models::marked(static_cast<std::int32_t>((i * 7919 + first) % model.base->config().vocab)));
    return out;
}

std::string digest_of_arithmetic(const config::run_spec& spec, const run_model& model, std::int64_t max_tokens) {
    std::vector<std::vector<models::sequence>> made;
    for (const std::int64_t length : {2, 7, 16, 33, 64})
        made.push_back({make_up_record(std::min(length, max_tokens), length, model)});
    // Not where training begins: that is what public records taught, which rank 0 alone has yet. And where an adapter
    // begins, half of the gradient is zero.
    const auto begun = [&] {
        const auto out = models::initial_adapter(model.layout, spec.seed).to(model.initial_adapter.device());
        return out + 0.01 * at::sin(at::arange(out.size(0), out.options()));
    };
    const auto adapter = model.layout.trains_base() ? model.base->flatten_tensors(model.layout) : begun();
    std::string bytes;
    const auto add = [&](const at::Tensor& numbers) {
        const auto here = numbers.cpu().contiguous();
        bytes.append(static_cast<const char*>(here.data_ptr()), here.nbytes());
    };
    step_gradients(
        model, make_gradient_settings(spec, model), adapter, {}, models::view_units(made), {},
        [&](const privacy::unit_gradients& chunk) {
            add(chunk.parts ? chunk.parts->norm_bounds() : chunk.gradients);
            add(chunk.losses);
        },
        [](const std::exception&) {});
    return privacy::sha256(bytes);
}

void step_gradients(const run_model& model, const gradient_settings& how, const at::Tensor& adapter,
                    const std::vector<at::Tensor>& probes, std::vector<models::unit_records> units,
                    const models::dropout_factory& dropout, const on_chunk& take, const on_failed_unit& failed) {
    const auto work = plan_work(std::move(units), how);
    const chunk_worker made{model, how, adapter, probes, work, dropout, failed};
    const auto chunks = work.chunks.size();
    const auto at_once = static_cast<std::size_t>(how.abreast);
    if (at_once == 1) {
        for (std::size_t i = 0; i < chunks; ++i) {
            go_on(how);
            take(made(i));
        }
        return;
    }
    // Chunks differ in length: each thread takes the next one when it is done with its last, and waits with it while
    // so many are not taken yet: they are what takes memory.
    std::counting_semaphore<> room(how.abreast + 1);
    std::vector<std::promise<privacy::unit_gradients>> computed(chunks);
    std::atomic<std::size_t> next = 0;
    const auto work_off = [&] {
        models::use_threads(how.threads);
        for (;;) {
            room.acquire();
            const std::size_t j = next++;
            if (j >= chunks) return;
            try {
                computed[j].set_value(made(j));
            } catch (...) {
                computed[j].set_exception(std::current_exception());
                next = chunks;  // those before it are under way or done, and nobody asks for those behind it
            }
        }
    };
    std::vector<std::future<void>> threads;  // their ends are waited for, whatever is thrown below
    for (std::size_t i = 0; i < std::min(at_once, chunks); ++i)
        threads.push_back(std::async(std::launch::async, work_off));
    try {
        for (std::size_t j = 0; j < chunks; ++j) {
            go_on(how);
            take(computed[j].get_future().get());
            room.release();
        }
    } catch (...) {
        next = chunks;  // nobody asks for more
        room.release(how.abreast);
        throw;
    }
}

}  // namespace rldp::actors

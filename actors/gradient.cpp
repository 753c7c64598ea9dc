#include "actors/gradient.hpp"

#include <ATen/ATen.h>

#include <c10/util/Exception.h>
#include <spdlog/logger.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <new>
#include <utility>

#include "actors/failure.hpp"
#include "actors/threads.hpp"
#include "models/blas.hpp"
#include "privacy/trusted_side.hpp"

namespace rldp::actors {

models::dropout_factory dropout_of(const privacy::run_key& key, std::uint64_t seq, const models::lora_layout& layout,
                                   at::Device device) {
    const double p = layout.config.dropout;
    if (p == 0) return {};
    return [&key, seq, pairs = layout.pairs.size(), p, device](std::size_t pass) -> models::dropout_source {
        return [&key, seq, pairs, p, device, pass](std::size_t pair, at::IntArrayRef shape) {
            privacy::random_stream random(key, privacy::purpose::dropout, seq, pass * pairs + pair);
            auto mask = at::empty(shape, at::kFloat);
            random.dropout({mask.data_ptr<float>(), static_cast<std::size_t>(mask.numel())}, p);
            return mask.to(device);
        };
    };
}

namespace {

/// A step's work: the units drawn, in chunks.
struct step_work {
    std::vector<models::unit_sequences> units;
    std::vector<std::vector<std::size_t>> chunks;
    std::vector<std::size_t> first_pass{0};  ///< of each chunk, then of none: what comes after
    std::size_t dummies = 0;                 ///< units at the end that stand for nobody
};

/// Dummies where fewer units were drawn than there is room for. A larger draw, which the plan's δ pays for, takes
/// longer.
void pad(step_work& work, const padding& to) {
    const auto filled = std::max(work.units.size(), static_cast<std::size_t>(to.units));
    work.dummies = filled - work.units.size();
    work.units.resize(filled);
}

std::optional<models::unit_shape> shape_of(const std::optional<padding>& padded) {
    return padded ? std::optional(padded->shape) : std::nullopt;
}

step_work plan(std::vector<models::unit_sequences> units, const gradient_settings& how) {
    step_work out;
    out.units = std::move(units);
    if (how.padded) pad(out, *how.padded);
    const auto together = how.apart ? 1 : how.micro_batch;
    out.chunks = how.padded ? models::plan_padded_chunks(out.units.size(), how.padded->shape, together)
                            : models::plan_chunks(out.units, together);
    for (const auto& chunk : out.chunks)
        out.first_pass.push_back(out.first_pass.back() +
                                 models::passes_of(out.units, chunk, how.micro_batch, shape_of(how.padded)));
    return out;
}

/// A step's computation of one chunk after the other, or of several at a time.
class chunk_worker {
  public:
    chunk_worker(const gradient_state& by, const at::Tensor& adapter, const step_work& work,
                 const models::dropout_factory& dropout)
        : by_(by), adapter_(adapter), work_(work), dropout_(dropout) {}

    /// Errors: whatever made-up tokens provoke too, and exhausted memory.
    models::record_gradients operator()(std::size_t i) const {
        try {
            return made(work_.chunks[i], work_.first_pass[i]);
        } catch (const std::bad_alloc&) {
            throw;
        } catch (const c10::OutOfMemoryError&) {
            throw;
        } catch (...) {
            check_gradients({by_.model.base, by_.model.layout, adapter_}, "the model");
        }
        return one_by_one(work_.chunks[i]);
    }

  private:
    models::record_gradients made(const std::vector<std::size_t>& units, std::size_t first_pass) const {
        return models::unit_gradients(*by_.model.base, by_.model.layout, adapter_, work_.units, units,
                                      by_.how.micro_batch, dropout_, first_pass, shape_of(by_.how.padded));
    }

    /// Each unit alone; zeros for one that fails. Masks are of passes beyond the step's others: as many for each unit
    /// as the step has, so none is used twice.
    models::record_gradients one_by_one(const std::vector<std::size_t>& units) const {
        const auto rows = std::ssize(units);
        models::record_gradients out{at::zeros({rows, by_.model.layout.dimension}, adapter_.options()),
                                     at::full({rows}, std::nan(""), at::kDouble)};
        for (std::int64_t row = 0; row < rows; ++row) {
            const auto unit = units[static_cast<std::size_t>(row)];
            try {
                const auto alone = made({unit}, (unit + 1) * work_.first_pass.back());
                out.gradients[row].copy_(alone.gradients[0]);
                out.losses[row].copy_(alone.losses[0]);
            } catch (const std::exception& reason) {
                by_.trusted_log->error("a unit counts as zero: {}", reason.what());
            }
        }
        return out;
    }

    const gradient_state& by_;
    const at::Tensor& adapter_;
    const step_work& work_;
    const models::dropout_factory& dropout_;
};

}  // namespace

void gradient_state::compute(const step_task& task, const trusted<draw>& drawn,
                             const std::function<void(trusted<privacy::unit_gradients>)>& on_chunk) const {
    const auto& own = *privacy::opened(closed);
    const auto seq = task.order.charged->seq;
    std::vector<models::unit_sequences> units;
    std::vector<at::Tensor> canaries;
    for (const auto& unit : privacy::opened(drawn).units) {
        if (unit.gradient_canary)
            canaries.push_back(eval::canary_gradient(own.gradient_canaries, *unit.gradient_canary));
        else
            units.push_back(unit.records);
    }
    const auto dropout = dropout_of(own.key, seq, model.layout, task.adapter.device());
    const auto work = plan(std::move(units), how);
    const chunk_worker made(*this, task.adapter, work, dropout);
    const auto hand_over = [&](models::record_gradients chunk, std::int64_t dummies) {
        on_chunk(trusted<privacy::unit_gradients>({std::move(chunk.gradients), std::move(chunk.losses), dummies}));
    };
    const auto dummies_of = [&](const std::vector<std::size_t>& chunk) {
        return std::count_if(chunk.begin(), chunk.end(),
                             [&](auto unit) { return unit >= work.units.size() - work.dummies; });
    };
    if (!canaries.empty())
        hand_over({at::stack(canaries).to(task.adapter.device()), at::zeros({std::ssize(canaries)}, at::kDouble)}, 0);
    const auto& chunks = work.chunks;
    const auto at_once = static_cast<std::size_t>(abreast);
    if (at_once == 1) {
        for (std::size_t i = 0; i < chunks.size(); ++i) hand_over(made(i), dummies_of(chunks[i]));
        return;
    }
    for (std::size_t begin = 0; begin < chunks.size(); begin += at_once) {
        std::vector<std::future<models::record_gradients>> under_way;
        for (std::size_t i = begin; i < std::min(begin + at_once, chunks.size()); ++i)
            under_way.push_back(std::async(std::launch::async, [&made, i] {
                use_threads(1);
                return made(i);
            }));
        for (std::size_t i = 0; i < under_way.size(); ++i) hand_over(under_way[i].get(), dummies_of(chunks[begin + i]));
    }
}

gradient_settings gradient_settings_of(const session& run) {
    return {run.config.train.micro_batch, computes_apart(run.config), run.plan.padded};
}

int chunks_abreast(const run_model& model) {
    return models::is_narrow(model.base->config()) && model.initial_adapter.is_cpu() ? all_threads() : 1;
}

gradient_actor::behavior_type gradient(gradient_actor::stateful_pointer<gradient_state> self,
                                       trusted<std::shared_ptr<const secrets>> closed, run_model model,
                                       gradient_settings how, loader_actor loader, sanitizer_actor sanitizer,
                                       std::shared_ptr<spdlog::logger> trusted_log) {
    fail_silently(self, trusted_log);
    self->state.trusted_log = std::move(trusted_log);
    self->state.closed = std::move(closed);
    self->state.model = std::move(model);
    self->state.how = how;
    self->state.abreast = chunks_abreast(self->state.model);
    return {
        [=](compute_atom, const step_task& task) {
            auto promise = self->make_response_promise<privacy::release>();
            // The grant is there: only now is the draw opened (docs/privacy.md §4).
            self->request(loader, caf::infinite, draw_atom::value, task.order.charged->seq)
                .then([=](const trusted<draw>& drawn) mutable {
                    self->send(sanitizer, begin_atom::value, task.order);
                    try {
                        self->state.compute(task, drawn, [&](trusted<privacy::unit_gradients> chunk) {
                            self->send(sanitizer, clip_atom::value, std::move(chunk));
                        });
                    } catch (...) {
                        promise.deliver(silent_failure(gradient_state::name));  // CAF leaves a promise unanswered
                        throw;
                    }
                    promise.delegate(sanitizer, finish_atom::value);
                });
            return promise;
        },
    };
}

}  // namespace rldp::actors

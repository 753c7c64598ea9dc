#include "actors/gradient.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <future>

#include "actors/failure.hpp"
#include "actors/threads.hpp"
#include "models/blas.hpp"

namespace rldp::actors {

models::dropout_factory dropout_of(const privacy::run_key& key, std::uint64_t seq, const models::lora_layout& layout,
                                   at::Device device) {
    const double p = layout.config.dropout;
    if (p == 0) return {};
    return [&key, seq, pairs = layout.pairs.size(), p, device](std::size_t pass) -> models::dropout_source {
        return [&key, seq, pairs, p, device, pass](std::size_t pair, at::IntArrayRef shape) {
            privacy::random_stream random(key, privacy::purpose::dropout, seq, pass * pairs + pair);
            auto mask = torch::empty(shape, torch::kFloat32);
            random.dropout({mask.data_ptr<float>(), static_cast<std::size_t>(mask.numel())}, p);
            return mask.to(device);
        };
    };
}

void gradient_state::compute(const step_task& task, const trusted<draw>& drawn,
                             const std::function<void(trusted<privacy::unit_gradients>)>& on_chunk) const {
    const auto& inside = drawn.open(privacy::trusted_key{});
    const auto& own = *closed.open(privacy::trusted_key{});
    std::vector<models::unit_sequences> units;
    std::vector<at::Tensor> canaries;
    for (const auto& unit : inside.units) {
        if (unit.gradient_canary)
            canaries.push_back(eval::canary_gradient(own.gradient_canaries, *unit.gradient_canary));
        else
            units.push_back(unit.records);
    }
    const auto dropout = dropout_of(own.key, task.order.seq, model.layout, task.adapter.device());
    const auto chunks = models::plan_chunks(units, micro_batch);
    std::vector<std::size_t> first_pass{0};
    for (const auto& chunk : chunks)
        first_pass.push_back(first_pass.back() + models::passes_of(units, chunk, micro_batch));
    const auto made = [&](std::size_t i) {
        return models::unit_gradients(*model.base, model.layout, task.adapter, units, chunks[i], micro_batch, dropout,
                                      first_pass[i]);
    };
    const auto hand_over = [&](models::record_gradients chunk) {
        on_chunk(trusted<privacy::unit_gradients>({std::move(chunk.gradients), std::move(chunk.losses)}));
    };
    if (!canaries.empty())
        hand_over({torch::stack(canaries).to(task.adapter.device()),
                   torch::zeros({std::ssize(canaries)}, torch::kFloat64)});
    const auto at_once = static_cast<std::size_t>(abreast);
    if (at_once == 1) {
        for (std::size_t i = 0; i < chunks.size(); ++i) hand_over(made(i));
        return;
    }
    for (std::size_t begin = 0; begin < chunks.size(); begin += at_once) {
        std::vector<std::future<models::record_gradients>> under_way;
        for (std::size_t i = begin; i < std::min(begin + at_once, chunks.size()); ++i)
            under_way.push_back(std::async(std::launch::async, [&made, i] {
                use_threads(1);
                return made(i);
            }));
        for (auto& chunk : under_way) hand_over(chunk.get());
    }
}

int chunks_abreast(const run_model& model) {
    return models::is_narrow(model.base->config()) && model.initial_adapter.is_cpu() ? all_threads() : 1;
}

gradient_actor::behavior_type gradient(gradient_actor::stateful_pointer<gradient_state> self,
                                       trusted<std::shared_ptr<const secrets>> closed, run_model model,
                                       std::int64_t micro_batch, loader_actor loader, sanitizer_actor sanitizer,
                                       std::shared_ptr<spdlog::logger> trusted_log) {
    fail_silently(self, std::move(trusted_log));
    self->state.closed = std::move(closed);
    self->state.model = std::move(model);
    self->state.micro_batch = micro_batch;
    self->state.abreast = chunks_abreast(self->state.model);
    return {
        [=](compute_atom, const step_task& task) {
            auto promise = self->make_response_promise<privacy::release>();
            // The grant is there: only now is the draw opened (contract §4).
            self->request(loader, caf::infinite, draw_atom::value, task.order.seq)
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

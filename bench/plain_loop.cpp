#include "bench/plain_loop.hpp"

#include <ATen/ATen.h>

#include <fstream>

#include "actors/evaluator.hpp"
#include "actors/gradient.hpp"
#include "actors/loader.hpp"
#include "actors/sanitizer.hpp"

namespace rldp::bench {

namespace {

/// The trusted actors' states without their actors.
struct trusted_side {
    actors::loader_state loader;
    actors::gradient_state gradient;
    actors::sanitizer_state sanitizer;
    actors::evaluator_state evaluator;

    explicit trusted_side(const actors::opened_run& opened) {
        const auto& run = *opened.facts;
        loader.closed = gradient.closed = opened.closed;
        loader.sample_rate = run.plan.step_rate();
        gradient.model = run.model;
        gradient.how = actors::make_gradient_settings(run);
        sanitizer.open(opened.closed, actors::make_sanitizer_config(run.spec, run.model.layout), nullptr,
                       run.where.releases());
        if (run.spec.train.looks > 0)
            evaluator.open(run.held_out, opened.closed, actors::make_evaluation_rule(run, {}));
    }

    privacy::release step(const messages::step_task& task) {
        const auto drawn = loader.hand_out(task.order.charged->seq);
        sanitizer.library->begin(task.order);
        gradient.compute(task, drawn, [&](auto chunk) { sanitizer.add(chunk); });
        return sanitizer.finish();
    }
};

}  // namespace

at::Tensor run_plain(const actors::opened_run& opened, std::int64_t until) {
    const auto& run = *opened.facts;
    const auto& parts = opened.parts;
    trusted_side trusted(opened);
    std::ofstream metrics(run.where.metrics(), std::ios::app);
    const auto prices = actors::make_price_times(run.spec, run.plan);
    eval::progress_price progress;
    eval::metrics_line last;
    last.ledger = parts.budget->ledger_view().header_hash;
    const auto write = [&] { metrics << eval::with_checksum(eval::to_json(last)) << '\n' << std::flush; };
    auto& steps = *parts.steps;
    for (;;) switch (steps.next()) {
            case actors::step_machine::due::decision:
                actors::decide_in_line(parts, progress.epsilon);
                break;
            case actors::step_machine::due::evaluation:
                if (last.step > 0) last.progress = progress;
                // Exact figures steer nothing, and are left out.
                if (run.spec.train.looks > 0)
                    if (const auto granted = parts.budget->grant_look(steps.training().step()))
                        put(last, actors::to_scores(privacy::decode_figures(
                                      trusted.evaluator.look(*granted, steps.training().result()))));
                steps.evaluated();
                if (last.step > 0 || last.eval_perplexity) write();
                break;
            case actors::step_machine::due::checkpoint:
                actors::write_checkpoint(run.where.checkpoint(), actors::make_checkpoint(parts, run.belongs_to),
                                         run.seal);
                trusted.sanitizer.log->clear();
                steps.saved();
                break;
            case actors::step_machine::due::step: {
                const auto step = steps.next_step();
                if (step > until) return steps.training().adapter();
                const auto granted = parts.budget->grant(step, steps.requested_noise_multiplier());
                if (!granted) return steps.training().adapter();
                const auto released = trusted.step({steps.order(*granted), steps.training().adapter()});
                last = steps.apply(*granted, &released, progress);
                write();
                if (prices.due(step)) progress = {parts.budget->epsilon_spent(), step};
                break;
            }
            case actors::step_machine::due::end:
                metrics.close();
                eval::write_metrics(run.where.metrics(), eval::read_metrics(run.where.metrics()));  // a line per step
                return steps.training().adapter();
        }
}

}  // namespace rldp::bench

#include "bench/plain_loop.hpp"

#include <ATen/ATen.h>

#include <fstream>

#include "actors/gradient.hpp"
#include "actors/loader.hpp"
#include "actors/run/checkpoint.hpp"
#include "actors/sanitizer.hpp"

namespace rldp::bench {

namespace {

/// The trusted actors' states without their actors.
struct trusted_side {
    actors::loader_state loader;
    actors::gradient_state gradient;
    actors::sanitizer_state sanitizer;

    trusted_side(const actors::session& run, const privacy::trusted<std::shared_ptr<const actors::secrets>>& closed) {
        loader.closed = gradient.closed = closed;
        loader.sample_rate = run.plan.sample_rate;
        gradient.model = run.model;
        gradient.how = actors::gradient_settings_of(run);
        gradient.abreast = actors::chunks_abreast(run.model);
        sanitizer.open(closed, actors::sanitizer_config_of(run.config, run.model.layout), run.where.releases());
    }

    privacy::release step(const messages::step_task& task) {
        const auto drawn = loader.hand_out(task.order.charged->seq);
        sanitizer.library->begin(task.order);
        gradient.compute(task, drawn, [&](auto chunk) { sanitizer.add(chunk); });
        return sanitizer.finish();
    }
};

}  // namespace

at::Tensor run_plain(actors::session& run, const privacy::trusted<std::shared_ptr<const actors::secrets>>& closed,
                     std::int64_t until) {
    trusted_side trusted(run, closed);
    std::ofstream metrics(run.where.metrics(), std::ios::app);
    double progress = 0;
    while (!run.training.finished() && run.training.step() < until) {
        const auto step = run.training.step() + 1;
        const auto granted = run.account.grant(step, run.training.requested_noise_multiplier());
        if (!granted) break;
        const auto radii = run.training.radii();
        const auto released = trusted.step({run.training.order(*granted), run.training.adapter()});
        run.training.apply(released);
        metrics << eval::to_json(actors::metrics_of(run.training, radii, (*granted)->noise_multiplier, progress))
                << '\n'
                << std::flush;
        if (step % run.config.rl.interval == 0) progress = run.account.progress_epsilon();
        if (run.training.decision_due()) actors::decide_in_line(run, progress);
        if (step % run.config.train.eval_every == 0) {
            actors::write_checkpoint(run.where.checkpoint(),
                                     {run.training.snapshot(), run.controller ? run.controller->save() : std::string(),
                                      run.account.book().end(), run.belongs_to},
                                     run.seal);
            trusted.sanitizer.log->clear();
        }
    }
    return run.training.adapter();
}

}  // namespace rldp::bench

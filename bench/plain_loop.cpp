#include "bench/plain_loop.hpp"

#include <torch/torch.h>

#include <fstream>

#include "actors/checkpoint.hpp"
#include "actors/gradient.hpp"
#include "data/sampler.hpp"

namespace rldp::bench {

namespace {

std::vector<models::unit_sequences> draw(const actors::secrets& closed, double sample_rate, std::uint64_t seq) {
    privacy::random_stream random(closed.key, privacy::purpose::draw, seq, 0);
    std::vector<models::unit_sequences> units;
    for (const auto unit : data::poisson_draw(static_cast<std::int64_t>(closed.train.size()), sample_rate,
                                              [&] { return random.next(); }))
        units.push_back(closed.train[static_cast<std::size_t>(unit)].records);
    return units;
}

privacy::release release_step(const actors::session& run, const actors::secrets& closed, privacy::sanitizer& sanitizer,
                              const privacy::step_order& order) {
    const auto units = draw(closed, run.plan.sample_rate, order.seq);
    const auto& adapter = run.training.adapter();
    const auto dropout = actors::dropout_of(closed.key, order.seq, run.model.layout, adapter.device());
    const auto micro_batch = run.config.train.micro_batch;
    std::size_t pass = 0;
    sanitizer.begin(order);
    for (const auto& chunk : models::plan_chunks(units, micro_batch)) {
        auto made = models::unit_gradients(*run.model.base, run.model.layout, adapter, units, chunk, micro_batch, dropout, pass);
        sanitizer.add({std::move(made.gradients), std::move(made.losses)});
    }
    return sanitizer.finish();
}

}  // namespace

at::Tensor run_plain(actors::session& run, const actors::secrets& closed, std::int64_t until) {
    privacy::sanitizer sanitizer(actors::sanitizer_config_of(run), closed.key);
    privacy::release_log log(run.where.releases());
    std::ofstream metrics(run.where.metrics(), std::ios::app);
    double progress = 0;
    while (!run.training.finished() && run.training.step() < until) {
        const auto step = run.training.step() + 1;
        const auto granted = run.account.grant(step, run.training.requested_noise_multiplier());
        if (!granted) break;
        const auto radii = run.training.radii();
        const auto released =
            release_step(run, closed, sanitizer, run.training.order(granted->seq, granted->noise_multiplier));
        log.append(released);
        run.training.apply(released);
        if (step % run.config.rl.interval == 0) progress = run.account.progress_epsilon();
        metrics << eval::to_json(actors::metrics_of(run.training, radii, granted->noise_multiplier, progress)) << '\n'
                << std::flush;
        if (run.training.decision_due()) actors::decide_in_line(run, progress);
        if (step % run.config.train.eval_every == 0) {
            actors::write_checkpoint(run.where.checkpoint(), {run.training.snapshot(),
                                                              run.controller ? run.controller->save() : std::string(),
                                                              run.belongs_to});
            log.clear();
        }
    }
    return run.training.adapter();
}

}  // namespace rldp::bench

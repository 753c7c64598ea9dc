#include "actors/evaluator.hpp"

#include <spdlog/logger.h>

#include <algorithm>

#include "actors/failure.hpp"
#include "actors/threads.hpp"
#include "base/error.hpp"
#include "models/device.hpp"
#include "privacy/trusted_side.hpp"
#include "run/audit_evidence.hpp"
#include "run/test_hooks.hpp"

namespace rldp::actors {

namespace {

/// Half of the threads: training goes on meanwhile.
int threads_aside() {
    return std::max(1, all_threads() / 2);
}

/// Runs `work` beside the training: on threads, and where there is a device on a stream, of its own.
template <class Work>
auto aside(const run_model& model, int threads, const Work& work) {
    const models::side_stream stream(model.initial_adapter.device());
    return on_passing_thread(threads, [&] { return stream.run(work); });
}

}  // namespace

evaluation_rule make_evaluation_rule(const session& run, evaluations seen) {
    return {.model = run.model,
            .publish = run.spec.publish,
            .looks = run.looks,
            .batch = run.spec.train.micro_batch,
            .seen = std::move(seen),
            .looks_log = run.where.looks(),
            .owners_file = run.where.held_out(),
            .trace = run.where.look_trace(),
            .looked = run.looked};
}

void evaluator_state::open(const trusted<std::shared_ptr<const eval::held_out>>& held_out,
                           const trusted<std::shared_ptr<const secrets>>& closed, evaluation_rule rule) {
    how = std::move(rule);
    records = privacy::opened(held_out);
    own = privacy::opened(closed);
    log.emplace(how.looks_log, privacy::file_seal(own->key), std::move(how.looked));
    owner.emplace(how.owners_file);
    if (how.publish != publication::raw) return;
    how.seen.floors = {records->template_perplexity(), records->marginal_nats};
    for (auto* known : {&how.seen.before, &how.seen.last, &how.seen.best})
        if (*known) (*known)->bits_per_byte = records->bits_per_byte((*known)->perplexity);
}

privacy::look_release evaluator_state::look(const privacy::look_charge& charged, const at::Tensor& adapter) {
    const auto& made = log->made();
    privacy::look_sum sum(make_frame(how.looks, made.empty() ? std::nullopt : std::optional(made.back())));
    // On a device one after the other: threads would share its stream.
    const bool device = !how.model.initial_adapter.device().is_cpu();
    // Nor do they with a base of which each would hold and borrow layers of its own.
    const bool alone = device || how.model.base->is_shared();
    const eval::scoring one_by_one{
        .batch = 1, .answers_only = records->answers_only, .lanes = alone ? 1 : threads_aside()};
    auto found = aside(how.model, alone ? threads_aside() : 1, [&] {
        return eval::look_at(*how.model.base, &how.model.layout, &adapter, *records, one_by_one);
    });
    for (const auto& unit : found.units) sum.add(unit);
    const auto others = sum.exact();
    const auto& canaries = own->look_canary_in;
    for (std::size_t j = 0; j < canaries.size(); ++j)
        if (canaries[j]) sum.add_vector(look_canary(j, others.size()));
    auto out = sum.finish(charged, own->key);
    test_hooks::exchange(out);
    log->append(out);  // durable before anybody hears of it
    if (!canaries.empty()) add_to_trace(how.trace, {out.charged->look, out.numbers, others});
    test_hooks::looked(out.charged->look);
    if (found.exact.perplexity > 0) found.exact.bits_per_byte = records->bits_per_byte(found.exact.perplexity);
    double nats = 0;
    for (const auto& unit : found.units) nats += unit.nats / static_cast<double>(found.units.size());
    owner->add(out.charged->step, found.exact, look_notes{sum.units(), sum.shortened(), nats});
    how.seen.add(out.charged->step, to_scores(privacy::decode_figures(out)));
    return out;
}

eval::scores evaluator_state::evaluate(const snapshot& at, const std::stop_token& stop) {
    const eval::scoring scoring{.batch = how.batch, .answers_only = records->answers_only, .stop = stop};
    auto found = aside(how.model, threads_aside(), [&] {
        return eval::score_held_out(*how.model.base, &how.model.layout, &at.adapter, records->sequences, scoring);
    });
    found.bits_per_byte = records->bits_per_byte(found.perplexity);
    owner->add(at.step, found);
    if (how.publish == publication::raw) how.seen.add(at.step, found);
    return found;
}

evaluations evaluator_state::settle(const snapshot& end, const std::stop_token& stop) {
    const eval::scoring whole{.batch = how.batch, .stop = stop};  // likelihoods of whole records
    const auto guess = [&](const at::Tensor& adapter) {
        return aside(how.model, threads_aside(), [&] {
            return eval::predict(*how.model.base, &how.model.layout, &adapter, *records->target, whole);
        });
    };
    std::optional<predictions> predicted;
    if (records->target && end.adapter.defined()) {
        const auto before = guess(how.model.initial_adapter), after = guess(end.adapter);
        if (before && after) predicted = {records->target->column, *before, *after};
    }
    owner->end({records->template_perplexity(), records->marginal_nats}, predicted);
    if (how.publish == publication::raw) how.seen.predicted = predicted;
    return how.seen;
}

evaluator_actor::behavior_type make_evaluator(evaluator_actor::stateful_pointer<evaluator_state> self,
                                              trusted<std::shared_ptr<const eval::held_out>> records,
                                              trusted<std::shared_ptr<const secrets>> closed, evaluation_rule how,
                                              const hub_actor& hub, std::shared_ptr<spdlog::logger> trusted_log,
                                              std::stop_token stop) {
    fail_silently(self, trusted_log);
    self->state.open(records, closed, std::move(how));
    // Of exact figures. Where they are the owner's alone, that there are none must not end the run: it would tell of
    // the records.
    const auto unless_stopped = [self, trusted_log](const auto& work) {
        try {
            work();
        } catch (const storage_error&) {
            throw;
        } catch (const std::exception& ended) {
            const auto* own = dynamic_cast<const error*>(&ended);
            if (own && own->code() == errc::interrupted)
                self->state.how.seen.stopped = true;
            else if (self->state.how.publish == publication::raw)
                throw;
            else
                trusted_log->warn("no exact figures of held-out units: {}", ended.what());
        }
    };
    return {
        [=](look_atom, const privacy::look_charge& charged, const snapshot& at) {
            const auto released = self->state.look(charged, at.adapter);
            self->send(hub, evaluated_atom::value, at.step, to_scores(privacy::decode_figures(released)));
            return at.step;
        },
        [=](evaluate_atom, const snapshot& at) {
            auto& state = self->state;
            if (state.records->sequences.empty())
                return at.step;  // the owner has nothing to see, and nobody else may know
            unless_stopped([&] {
                const auto found = state.evaluate(at, stop);
                if (state.how.publish == publication::raw) self->send(hub, evaluated_atom::value, at.step, found);
            });
            return at.step;  // the trainer must not learn what was found
        },
        [=](settle_atom, const snapshot& end) {
            unless_stopped([&] { self->state.settle(end, stop); });
            return self->state.how.seen;
        },
    };
}

}  // namespace rldp::actors

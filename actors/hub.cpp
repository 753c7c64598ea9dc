#include "actors/hub.hpp"

#include <cmath>
#include <utility>

#include "actors/failure.hpp"
#include "monitor/view/run_view.hpp"
#include "run/test_hooks.hpp"

namespace rldp::actors {

namespace {

using eval::quantity;
using hub_pointer = hub_actor::stateful_pointer<hub_state>;

#ifdef RLDP_TEST_HOOKS
/// Without what depends on when a tick falls: the mean loss and the last evaluation, which the run log has one by one.
void note(run_view latest) {
    for (const auto& row : eval::quantities)
        if (row.which == quantity::loss || row.when == eval::moment::evaluation) latest.latest[row.which] = {};
    latest.evaluated_step = 0;
    latest.perplexity_before = monitor::unknown;
    test_hooks::seen(latest.state, monitor::to_row(latest));
}
#else
void note(const run_view&) {}
#endif

void send_latest(hub_pointer self, hub_state::watcher& to) {
    self->send(to.handle, self->state.shown);
    to.owes_ack = true;
    to.stale = false;
}

void tell_all(hub_pointer self) {
    for (auto& [address, watcher] : self->state.watchers) {
        if (watcher.owes_ack)
            watcher.stale = true;
        else
            send_latest(self, watcher);
    }
}

/// How a run ended is told without waiting for acknowledgements: nothing comes after it, and the process may end.
void tell_the_last(hub_pointer self) {
    for (auto& [address, watcher] : self->state.watchers)
        if (watcher.stale) send_latest(self, watcher);
}

void tick(hub_pointer self) {
    auto& state = self->state;
    if (!state.changed) return;
    if (state.losses > 0)
        state.latest.latest[quantity::loss].value = state.loss_sum / static_cast<double>(state.losses);
    state.loss_sum = 0;
    state.losses = 0;
    state.changed = false;
    state.shown = state.latest;
    tell_all(self);
}

}  // namespace

void hub_state::begin(const run_header& header) {
    latest.state = "running";
    latest.steps = header.steps;
    auto& promised = latest.contract.emplace();
    promised.any = std::isfinite(header.epsilon_guaranteed);
    promised.epsilon_budget = header.epsilon_budget;
    promised.epsilon_guaranteed = header.epsilon_guaranteed;
    header_hash = header.header_hash;
    awaited.insert(header.awaited.begin(), header.awaited.end());
    log.emplace(header.metrics_path);
    const auto known = eval::read_metrics(header.metrics_path);
    for (const auto& line : known) {
        latest.observe(line);
        remember(line);
    }
    logged = latest;
    if (!header.tensorboard.empty()) events.emplace(header.tensorboard, known);
    changed = true;
}

void hub_state::remember(const eval::metrics_line& line) {
    std::erase_if(open, [&](const auto& one) { return !awaited.contains(one.first); });
    open[line.step] = line;
}

void hub_state::in_order(std::function<void()> write) {
    if (awaited.empty())
        write();
    else
        held.push_back(std::move(write));
}

void hub_state::release_held() {
    for (const auto& write : std::exchange(held, {})) write();
}

void hub_state::record(const eval::metrics_line& line) {
    in_order([this, line] {
        log->append(line);
        if (events) events->append(line);
        logged.observe(line);
        if (tell) tell(logged);
    });
    remember(line);
    latest.observe(line);
    if (line.loss_released) {
        loss_sum += *line.loss_released;
        ++losses;
    }
    changed = true;
    note(latest);
}

void hub_state::priced(const eval::progress_price& progress, bool in_log) {
    latest.latest[quantity::epsilon_spent].value = progress.epsilon;
    latest.progress_step = progress.step;
    changed = true;
    const auto known = open.find(progress.step);
    if (!in_log || known == open.end() || known->second.progress == progress) return;
    known->second.progress = progress;
    in_order([this, line = known->second] {
        log->append(line);
        logged.observe(line);
        if (events)
            events->append({.step = line.step,
                            .loss_released = {},
                            .radii = {},
                            .progress = line.progress,
                            .eval_perplexity = {}});
    });
}

void hub_state::evaluated(std::int64_t step, const eval::scores& found) {
    eval::metrics_line line;
    line.step = step;
    line.ledger = header_hash;  // of step 0, which no charge makes a line of
    if (const auto known = open.find(step); known != open.end()) line = known->second;
    put(line, found);
    log->append(line);
    eval::metrics_line alone;  // steps that were made since stay as they are shown
    alone.step = step;
    put(alone, found);
    if (events) events->append(alone);  // the rest of the step has been told
    for (auto* seen : {&latest, &logged}) seen->observe(alone);
    changed = true;
    awaited.erase(step);
    if (awaited.empty()) release_held();
}

void hub_state::enter(const std::string& state) {
    latest.state = state;
    changed = true;
    note(latest);
    // A run that is told to stop still has the evaluations that began before.
    if (monitor::is_over(latest)) put_in_order();
    in_order([this, state] {
        logged.state = state;
        if (tell) tell(logged);
    });
}

void hub_state::put_in_order() {
    awaited.clear();
    release_held();
    if (!log) return;
    const auto lines = log->sort();
    if (events) events->replace(lines);
}

hub_actor::behavior_type make_hub(hub_pointer self, std::string run, const show& tell) {
    fail_publicly(self);
    auto& latest = self->state.latest;
    latest.name = std::move(run);
    latest.state = "starting";
    self->state.shown = self->state.logged = latest;
    self->state.tell = tell;
    self->set_down_handler([self](const caf::down_msg& gone) { self->state.watchers.erase(gone.source); });
    self->delayed_send(self, tick_interval, tick_atom::value);
    return {
        [self](subscribe_atom, const display_actor& who) {
            self->monitor(who);
            self->state.watchers[who.address()] = {.handle = who, .owes_ack = true};
            return self->state.shown;
        },
        [self](ack_atom) {
            const auto found = self->state.watchers.find(caf::actor_cast<caf::actor_addr>(self->current_sender()));
            if (found == self->state.watchers.end()) return;
            found->second.owes_ack = false;
            if (found->second.stale) send_latest(self, found->second);
        },
        [self](announce_atom, const run_header& header) { self->state.begin(header); },
        [self](metrics_atom, const eval::metrics_line& line) { self->state.record(line); },
        [self](progress_atom, std::int64_t step, double epsilon, bool in_log) {
            self->state.priced({epsilon, step}, in_log);
        },
        [self](evaluate_atom, std::int64_t step) { self->state.awaited.insert(step); },
        [self](evaluated_atom, std::int64_t step, const eval::scores& found) { self->state.evaluated(step, found); },
        [self](sync_atom) {
            if (!self->state.log) return;
            self->state.release_held();  // a checkpoint must not be ahead of the log
            self->state.log->sync();
        },
        [self](state_atom, const std::string& how) {
            self->state.enter(how);
            tick(self);
            tell_the_last(self);
        },
        [self](tick_atom) {
            tick(self);
            self->delayed_send(self, tick_interval, tick_atom::value);
        },
    };
}

}  // namespace rldp::actors

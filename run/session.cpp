#include "run/session.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "base/data_names.hpp"
#include "base/directories.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/system.hpp"
#include "config/open_keys.hpp"
#include "privacy/spending/account.hpp"
#include "privacy/spending/book.hpp"
#include "privacy/spending/book_files.hpp"
#include "privacy/spending/book_search.hpp"
#include "privacy/spending/ledger.hpp"
#include "run/artifacts/run_directory.hpp"
#include "run/audit_evidence.hpp"
#include "run/cached_corpus.hpp"
#include "run/checkpoint.hpp"
#include "run/factories.hpp"
#include "run/public_training.hpp"
#include "run/ranks/team.hpp"
#include "run/run_end.hpp"
#include "run/run_inputs.hpp"
#include "run/test_hooks.hpp"

namespace rldp::actors {

namespace {

rl::training_config make_training_config(const config::run_spec& spec, const run_plan& plan,
                                         const models::lora_layout& layout) {
    rl::training_config out{.steps = plan.steps,
                            .rate = make_rate_schedule(spec, plan),
                            .average = make_average_config(spec, plan),
                            .interval = spec.controller.interval,
                            .warmup = spec.controller.warmup,
                            .initial_noise_multiplier = plan.noise_multiplier};
    out.optimizer = spec.train.optimizer;
    out.adamw.least_root = spec.method.stabiliser;
    out.expected_batch = static_cast<double>(spec.train.expected_batch_size);
    out.traces = spec.audit.gradient_canaries > 0;
    out.watches = plan.policy != nullptr;
    out.noised = make_sanitizer_config(spec, layout);
    return out;
}

evaluation_times make_evaluation_times(const config::run_spec& spec, const run_plan& plan) {
    return {spec.train.eval_every, std::max<std::int64_t>(1, plan.population / spec.train.expected_batch_size),
            config::look_steps(spec.train.looks, plan.steps)};
}

privacy::ledger_header make_header(const config::run_spec& spec, const run_plan& plan,
                                   const privacy::spending_policy& policy, const std::string& data_hmac) {
    privacy::ledger_header out;
    out.delta = spec.privacy.delta;
    out.padding_delta = plan.padded ? plan.padded->delta : 0;
    out.rounding_margin = plan.rounding_margin;
    out.sample_rate = plan.sample_rate;
    out.population = plan.population;
    out.steps = plan.steps;
    out.policy = name_of(spec.privacy.policy);
    out.accountant = spec.privacy.accountant;
    out.semantics = spec.privacy.semantics;
    out.unit = spec.privacy.unit;
    out.split = name_of(spec.data.split);
    out.deck = policy.deck();
    out.epsilon_budget = spec.privacy.epsilon_budget;
    out.epsilon_guaranteed = policy.epsilon_guaranteed();
    out.data_hmac = data_hmac;
    out.insecure_reproducible = spec.privacy.insecure_reproducible;
    out.held_out = spec.publish;
    out.looks = plan.looks;
    out.bands = plan.bands;
    out.runs = plan.runs;
    return out;
}

/// What a checkpoint belongs to.
std::string ownership(const privacy::run_key& key, const privacy::ledger_content& ledger,
                      const eval::run_directory& where, const run_model& model, const run_plan& plan) {
    auto all = ledger.header_hash + "\n" + read_file(where.config()) + "\n" + model.digest;
    for (const auto& place : eval::read_places(where)) all.append("\n").append(place);
    if (plan.policy) all.append("\n").append(plan.policy->digest());
    return key.hmac(all);
}

/// Which book it is follows from the data, and so is for the owner alone.
std::string describe_book(const privacy::book_answer& found, privacy::start_kind kind) {
    std::string out = found.directory.string();
    if (found.fresh)
        out += ", made now";
    else if (found.likeness < privacy::alike_from)
        out += fmt::format(", though {:.0f} of 100 units are alike; take another name if it is another population",
                           100 * found.likeness);
    if (kind == privacy::start_kind::copy) out += "; a copy, which takes its promise once more";
    return out;
}

/// `started`: of the last start, where there was one.
privacy::book_request request_for(const config::run_spec& spec, const run_data& data, std::filesystem::path started) {
    return {.asked = spec.privacy.book,
            .name = make_book_name(bare_name(spec.data.path)),
            .sketches = data.sketches,
            .started = std::move(started)};
}

/// Into the book of all runs on the data, before anything is charged. `now` and `run`: where the directory is, and will
/// be, of the run or of the tuning that pays for it.
void enter_in_book(run_inputs& ready, std::vector<privacy::phase> committed, const privacy::ledger_content& ledger,
                   const eval::run_directory& now, const std::filesystem::path& run) {
    if (ready.spec.privacy.book == no_book) return;
    const auto found = privacy::find_book(request_for(ready.spec, ready.data, privacy::read_mark(now.book()).book));
    const auto kind = privacy::enter_run(found.directory, {.ledger = ledger,
                                                           .phases = std::move(committed),
                                                           .data_digest = ready.data.digest,
                                                           .split = ready.data.split,
                                                           .place = std::filesystem::absolute(run).lexically_normal(),
                                                           .mark = now.book(),
                                                           .sketches = ready.data.sketches});
    if (ready.plan.counts) ready.plan.counts->book = describe_book(found, kind);
}

/// One contract pays for a tuning's runs together, and only its account knows how many were begun. Shadow runs release
/// nothing.
void check_account(const config::run_config& asked, const opening& how) {
    const auto runs = asked.privacy.runs;
    if (runs > 1 && !how.account && !asked.audit.shadow)
        refuse(
            fmt::format("privacy.runs is {}: this is one run of a tuning, which keeps the account of all; go on with "
                        "rldp tune --resume, or give privacy.runs 1",
                        runs));
    if (runs == 1 && how.account)
        refuse("privacy.runs is 1, and --account is for one of several runs that share a budget; leave it out");
}

/// As the account calls it.
std::string name_in_account(const std::filesystem::path& directory, const std::filesystem::path& of) {
    const auto clean = [](const auto& path) { return std::filesystem::absolute(path).lexically_normal(); };
    return clean(directory).lexically_relative(clean(of)).generic_string();
}

/// `now` and `run`: as enter_in_book.
privacy::account_claim claim_for(const std::filesystem::path& tuning, const run_data& data,
                                 const privacy::ledger_content& ledger, const eval::run_directory& now,
                                 const std::filesystem::path& run) {
    return {.name = name_in_account(run, tuning),
            .ledger = ledger,
            .mark = now.account_mark(),
            .data_digest = data.digest,
            .split = data.split};
}

/// A run that is one of a tuning's stands in the book as that, which has a total of its own.
void enter_in_book_of(const std::optional<std::filesystem::path>& tuning, run_inputs& ready,
                      std::vector<privacy::phase> committed, const privacy::ledger_content& ledger,
                      const eval::run_directory& now, const std::filesystem::path& run) {
    if (!tuning) return enter_in_book(ready, std::move(committed), ledger, now, run);
    const auto account = privacy::open_account(*tuning, claim_for(*tuning, ready.data, ledger, now, run));
    enter_in_book(ready, std::move(committed), account.promise(), {*tuning}, *tuning);
}

void enter_in_account(const std::optional<std::filesystem::path>& tuning, const std::filesystem::path& directory,
                      const run_inputs& ready, const privacy::ledger_content& ledger) {
    if (tuning)
        privacy::enter_account(*tuning,
                               claim_for(*tuning, ready.data, ledger, eval::run_directory{directory}, directory));
}

/// The two sides of a run directory that is being made.
void make_sides(const eval::run_directory& where) {
    make_directory(where.public_side());
    create_private_directory(where.trusted_side());
}

moving_parts make_moving_parts(const run_inputs& ready, std::unique_ptr<privacy::spending_policy> policy,
                               privacy::ledger ledger) {
    const auto& spec = ready.spec;
    rl::training training(make_training_config(spec, ready.plan, ready.model.layout),
                          make_run_method(spec, ready.plan, ready.model), ready.model.initial_adapter);
    return {.steps = std::make_shared<step_machine>(std::move(training), make_evaluation_times(spec, ready.plan),
                                                    make_iterate_choice(spec, ready.model),
                                                    make_public_probe(spec, ready.model)),
            .budget = std::make_shared<privacy::budget>(std::move(policy), std::move(ledger)),
            .controller = make_run_controller(spec, ready.plan)};
}

/// What a resume found that a new run has not.
struct found_before {
    std::vector<eval::metrics_line> known = {};  ///< the run log
    evaluations seen = {};
    std::vector<snapshot> passed = {};
    std::vector<privacy::look_release> looked = {};
};

std::shared_ptr<const session> make_session(const eval::run_directory& where, run_inputs ready, std::string belongs_to,
                                            const privacy::run_key& key, found_before found = {}) {
    const auto date = parse_date(ready.spec.run.date.value_or(today()));
    auto times = std::make_shared<const fixed_time>(where.public_side(), date);
    return std::make_shared<session>(session{.where = where,
                                             .spec = std::move(ready.spec),
                                             .plan = std::move(ready.plan),
                                             .model = std::move(ready.model),
                                             .held_out = privacy::trusted<std::shared_ptr<const eval::held_out>>(
                                                 std::make_shared<eval::held_out>(std::move(ready.held_out))),
                                             .looks = ready.looks,
                                             .looked = std::move(found.looked),
                                             .belongs_to = std::move(belongs_to),
                                             .seal = privacy::file_seal(key),
                                             .times = std::move(times),
                                             .seen = std::move(found.seen),
                                             .passed = std::move(found.passed)});
}

/// Brings the moving parts from the checkpoint to the ledger's end.
class replay {
  public:
    /// `known`: the run log up to the checkpoint.
    replay(const moving_parts& parts, const price_times& prices, const at::Tensor& initial_adapter,
           std::vector<eval::metrics_line> known)
        : parts_(parts), prices_(prices), found_{.known = std::move(known)} {
        if (steps_.training().step() > 0 && !looks()) found_.passed.push_back({0, initial_adapter});
        // The line with the price at an evaluation came behind the step's, and may be gone.
        for (auto& line : found_.known)
            if (line.step > line.progress.step && !line.lost && prices_.evaluations.due(line.step))
                line.progress = price_through(line.step);
        settle();
    }

    /// Logged releases are applied, other charges are lost.
    found_before all(const std::vector<privacy::release>& releases) {
        std::map<std::uint64_t, const privacy::release*> logged;
        for (const auto& release : releases) logged[release.charged->seq] = &release;
        auto& budget = *parts_.budget;
        for (const auto& charged : budget.ledger_view().charges) {
            if (charged->step < steps_.next_step()) continue;
            const auto found = logged.find(charged->seq);
            step(charged, found == logged.end() ? nullptr : found->second);
        }
        // A line that was torn by a crash was a charge under way: it is charged anew, and its step is lost. Where a
        // look is due it was the look's: nothing was opened for it, and the next charge takes its place.
        if (budget.ledger_view().torn && steps_.next() == step_machine::due::step)
            if (const auto charged = budget.grant(steps_.next_step(), steps_.requested_noise_multiplier()))
                step(*charged, nullptr);
        return std::move(found_);
    }

  private:
    bool looks() const { return parts_.budget->ledger_view().header.looks.count > 0; }

    void step(const privacy::charge& charged, const privacy::release* released) {
        if (steps_.next() == step_machine::due::evaluation) {  // nobody looked where a look was due
            steps_.evaluated();
            settle();
        }
        found_.known.push_back(steps_.apply(charged, released, price_through(prices_.last_through(charged->step - 1))));
        settle();
    }

    /// Whatever is due before the next step. Checkpoints are not: this one's place is where the run goes on from.
    void settle() {
        for (;;) switch (steps_.next()) {
                case step_machine::due::decision:
                    decide_in_line(parts_, price_through(steps_.training().step()).epsilon);
                    break;
                case step_machine::due::evaluation:
                    // A look that was charged is over, or lost; one that was not is still to come.
                    if (looks() && !parts_.budget->ledger_view().look_at(steps_.training().step())) return;
                    if (!looks()) found_.passed.push_back({steps_.training().step(), steps_.training().result()});
                    if (!found_.known.empty() && found_.known.back().step == steps_.training().step())
                        found_.known.back().progress = price_through(steps_.training().step());
                    steps_.evaluated();
                    break;
                case step_machine::due::checkpoint:
                    steps_.saved();
                    break;
                case step_machine::due::step:
                case step_machine::due::end:
                    return;
            }
    }

    /// Progress ε after `step`, at which the accountant actor, too, prices it.
    eval::progress_price price_through(std::int64_t step) {
        if (step > 0 && step != price_.step)
            price_ = {parts_.budget->epsilon_spent(parts_.budget->ledger_view().charges_through(step)), step};
        return step > 0 ? price_ : eval::progress_price{};
    }

    const moving_parts& parts_;
    step_machine& steps_ = *parts_.steps;
    price_times prices_;
    found_before found_;
    eval::progress_price price_;
};

const std::string weights_kind = "weights seen";

/// For resumes: what the weights were when they were read.
void note_weights(const eval::run_directory& where, const read_weights& seen, const privacy::file_seal& seal) {
    write_sealed(where.weights_seen(), weights_kind, {{}, {{"facts", seen.facts}, {"digest", seen.digest}}}, seal);
}

read_weights weights_seen(const eval::run_directory& where, const privacy::file_seal& seal) {
    const auto noted = read_sealed(where.weights_seen(), weights_kind, seal);
    return {noted.texts.at("facts"), noted.texts.at("digest")};
}

/// Tells the other ranks what they need besides their own copy of the data: the key, what was charged so far, and which
/// canaries are in.
void begin_together(ranks::team& team, const privacy::run_key& key, const eval::run_directory& where,
                    const eval::membership_record& who) {
    team.share(key);
    team.broadcast(read_file(where.ledger()));
    team.broadcast(eval::to_json(who));
}

/// As it was when the run began: coins that are tossed again would make its audit blind.
eval::membership_record membership_before(const eval::run_directory& where, const run_inputs& ready) {
    if (!std::filesystem::exists(where.membership()))
        refuse(where.membership().string() +
               ": is missing, so who was in training is not known; bring back the run's own file");
    auto who = eval::read_membership(where.membership());
    check_membership(who, ready.spec, ready.data, where.membership().string());
    return who;
}

}  // namespace

privacy::sanitizer_config make_sanitizer_config(const config::run_spec& spec, const models::lora_layout& layout) {
    return {.segments = make_segments(spec.clip.groups, layout),
            .how = spec.method.allocation,
            .as_published = spec.privacy.semantics == semantics::as_published,
            .rounding_margin = compute_rounding_margin(spec),
            .bands = privacy::make_bands(spec.privacy.bands, spec.train.steps)};
}

price_times make_price_times(const config::run_spec& spec, const run_plan& plan) {
    return {.interval = spec.controller.interval, .evaluations = make_evaluation_times(spec, plan), .last = plan.steps};
}

void check_room(const config::run_spec& spec, const run_plan& plan, const run_data& data,
                const std::filesystem::path& run) {
    if (spec.privacy.book == no_book) return;
    const auto found = privacy::find_known_book(request_for(spec, data, {}));
    if (!found) return;
    const auto policy = make_spending_policy(spec);
    privacy::ledger_content promise;
    promise.header = make_header(spec, plan, *policy, {});
    privacy::check_room(found->directory, {.ledger = promise,
                                           .phases = policy->committed(),
                                           .data_digest = data.digest,
                                           .split = data.split,
                                           .place = std::filesystem::absolute(run).lexically_normal(),
                                           .mark = {}});
}

checkpoint make_checkpoint(const moving_parts& parts, const std::string& belongs_to) {
    return {parts.steps->training().snapshot(), parts.controller ? parts.controller->save() : std::string(),
            parts.budget->ledger_view().end(), belongs_to};
}

void decide_in_line(const moving_parts& parts, double epsilon_spent) {
    parts.steps->decide(parts.controller->decide(parts.steps->observe(epsilon_spent)));
    parts.controller->learn();
}

namespace {

void refuse_existing(const std::filesystem::path& directory) {
    if (std::filesystem::exists(directory))
        refuse(directory.string() + ": exists already; choose another --out, or continue it with --resume " +
               directory.string());
}

}  // namespace

opened_run create_run(const config::run_config& given, const std::filesystem::path& directory, const opening& how,
                      const std::shared_ptr<ranks::team>& team) {
    auto asked = given;
    check_account(asked, how);
    if (!asked.run.date) asked.run.date = today();  // before any record is read, whose number takes time
    refuse_existing(directory);
    const auto kept = cached_corpus::of_run(config::to_reading_spec(asked), directory, how.corpora, team == nullptr);
    const auto published = publish_template(config::to_reading_spec(asked));
    auto ready = load_run_inputs(
        asked, [&](const auto& full, run_model model) { return train_on_public(full, std::move(model), how.lessons); },
        kept.get(), {.identify = true, .team = team.get(), .tell = how.tell});
    const auto& spec = ready.spec;
    if (team) team->agree(common_facts(ready));
    const auto key = spec.privacy.insecure_reproducible ? privacy::run_key::insecure_from_seed(spec.seed)
                                                        : privacy::run_key::from_system();
    refuse_existing(directory);  // reading took its time, and another run may have been begun here meanwhile
    staged_directory nascent(directory);
    const eval::run_directory partial{nascent.path()};
    make_sides(partial);
    auto policy = make_spending_policy(spec);
    const auto header = make_header(spec, ready.plan, *policy, test_hooks::data_hmac(key.hmac(ready.data.digest)));
    key.save(partial.key());
    eval::write_configuration(partial, spec.config);
    if (published) write_file(partial.row_template(), *published);
    const auto who = toss_membership(spec, ready.data, key);
    write_file(partial.membership(), eval::to_json(who));
    auto ledger = privacy::ledger::create(partial.ledger(), header);
    auto owner = ownership(key, ledger.content(), partial, ready.model, ready.plan);
    auto committed = policy->committed();
    const auto parts = make_moving_parts(ready, std::move(policy), std::move(ledger));
    write_checkpoint(partial.checkpoint(), make_checkpoint(parts, owner), privacy::file_seal(key));
    note_weights(partial, ready.model.weights, privacy::file_seal(key));
    if (spec.public_path) write_lessons(partial.lessons(), ready.model, privacy::file_seal(key));
    if (kept) kept->settle(partial);
    enter_in_book_of(how.account, ready, std::move(committed), parts.budget->ledger_view(), partial, directory);
    nascent.settle();
    enter_in_account(how.account, directory, ready, parts.budget->ledger_view());
    if (team) begin_together(*team, key, eval::run_directory{directory}, who);
    auto closed = take_secrets(ready, key, who);
    return {make_session(eval::run_directory{directory}, std::move(ready), std::move(owner), key), parts,
            std::move(closed), team};
}

opened_run resume_run(const std::filesystem::path& directory, const opening& how,
                      const std::shared_ptr<ranks::team>& team) {
    const eval::run_directory where{directory};
    if (!std::filesystem::exists(where.ledger()))
        refuse(directory.string() + ": holds no run (public/ledger.jsonl is missing)");
    staged_directory::remove_abandoned_of(directory);
    finish_end(where);
    if (is_over(where))
        refuse(directory.string() +
               ": that run has finished and erased its key, so nothing can be added to it; start a new run with "
               "another --out");
    if (!std::filesystem::exists(where.key()))
        refuse(directory.string() +
               ": that run has lost its key without having finished, so nothing can be added to it; bring back "
               "trusted/run.key, or start a new run with another --out");
    const auto asked = eval::read_configuration(where);
    check_account(asked, how);
    const auto key = asked.noise.insecure_reproducible ? privacy::run_key::load_insecure(where.key())
                                                       : privacy::run_key::load(where.key());
    auto ledger = privacy::ledger::open(where.ledger());
    const privacy::file_seal seal(key);
    const auto kept = cached_corpus::of_run(config::to_reading_spec(asked), directory, how.corpora, team == nullptr);
    auto ready = load_run_inputs(
        asked, [&](const auto&, run_model model) { return read_lessons(std::move(model), where.lessons(), seal); },
        kept.get(),
        {.identify = true,
         .team = team.get(),
         .known = how.verify_model ? std::nullopt : std::optional(weights_seen(where, seal)),
         .tell = how.tell});
    const auto& spec = ready.spec;
    const auto hmac = test_hooks::data_hmac(key.hmac(ready.data.digest));
    if (ledger.content().header.data_hmac != hmac)
        refuse(fmt::format(
            "{}: the ledger was begun on training data {:.12}…, but data.path {} now gives {:.12}…; bring back "
            "the original data",
            where.ledger().string(), ledger.content().header.data_hmac, spec.data.path, hmac));
    if (const auto version = ledger.content().header.version; version != privacy::ledger_header::current_version)
        refuse(fmt::format(
            "{}: was begun by a version whose ledgers are of kind {}, this one's are of kind {}; go on with "
            "the version that began it",
            where.ledger().string(), version, privacy::ledger_header::current_version));
    if (const auto charged = ledger.content().header.rounding_margin; charged != ready.plan.rounding_margin)
        refuse(fmt::format(
            "{}: the ledger was begun by a version that charged {:g} for rounding, and this one charges {:g} "
            "there; go on with the version that began it",
            where.ledger().string(), charged, ready.plan.rounding_margin));
    const auto who = membership_before(where, ready);
    if (team) team->agree(common_facts(ready));
    const auto saved = read_checkpoint(where.checkpoint(), seal);
    auto ours = ownership(key, ledger.content(), where, ready.model, ready.plan);
    if (saved.belongs_to != ours)
        refuse(fmt::format(
            "{}: belongs to {:.12}…, but ledger header, public/config.json, trusted/places and the files in {} amount "
            "to {:.12}…; "
            "one of them was changed since the run began",
            where.checkpoint().string(), saved.belongs_to,
            spec.controller.file ? spec.model.path + " and " + *spec.controller.file : spec.model.path, ours));
    // Charges that vanished would be made again: the same draw and noise under another action.
    if (!ledger.content().holds(saved.charged))
        refuse(fmt::format(
            "{}: ends at charge {}, but {} was written after charge {}; the ledger was cut or exchanged, bring "
            "back the run's own",
            where.ledger().string(), ledger.content().charges.size(), where.checkpoint().string(), saved.charged.seq));
    { privacy::release_log durable(where.releases(), seal); }
    const auto releases = privacy::release_log::read(where.releases(), seal, ledger.content());
    auto looked = looks_log::read(where.looks(), seal, ledger.content());
    auto policy = make_spending_policy(spec, ledger.content().header.deck);
    enter_in_book_of(how.account, ready, policy->committed(), ledger.content(), where, directory);
    enter_in_account(how.account, directory, ready, ledger.content());
    const auto parts = make_moving_parts(ready, std::move(policy), std::move(ledger));
    parts.steps->restore(saved.training);
    if (parts.controller) parts.controller->load(saved.controller);
    auto found =
        replay(parts, make_price_times(spec, ready.plan), ready.model.initial_adapter,
               known_lines(where, parts.budget->ledger_view(), parts.steps->training().step(), how.accept_lost_lines))
            .all(releases);
    add_looks(found.known, looked, parts.budget->ledger_view().header_hash);
    found.looked = std::move(looked);
    if (saved.evaluating)
        found.passed.insert(found.passed.begin(),
                            {saved.evaluating->step, saved.evaluating->adapter.to(resolve_device(spec))});
    std::erase_if(found.passed, [&](const snapshot& at) { return has_evaluation(found.known, at.step); });
    found.seen = evaluations_in(found.known);
    eval::write_metrics(where.metrics(), found.known);
    if (team) begin_together(*team, key, where, who);
    auto closed = take_secrets(ready, key, who);
    return {make_session(where, std::move(ready), std::move(ours), key, std::move(found)), parts, std::move(closed),
            team};
}

}  // namespace rldp::actors

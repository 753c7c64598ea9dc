
#include "run/run_inputs.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "privacy/keys/digest.hpp"
#include "run/audit_evidence.hpp"
#include "run/cached_corpus.hpp"
#include "run/memory.hpp"
#include "run/resolve.hpp"
#include "run/step_gradients.hpp"
#include "run/test_hooks.hpp"
#include "version.hpp"

namespace rldp::actors {

run_inputs load_run_inputs(config::run_config asked, const public_training& teach, cached_corpus* kept,
                           const model_reading& reading) {
    std::optional<config::choice> sharing;
    if (reading.team) {
        const auto before = config::to_reading_spec(asked);
        const auto model = models::read_model(before.model.path);
        const auto stored = before.model.dtype == precision::bfloat16 ? at::kBFloat16 : at::kFloat;
        sharing = choose_sharing(asked, model, *reading.team, [&](std::int64_t here) {
            return holds_whole_base(before, model, here, models::is_stored_as(before.model.path, model, stored));
        });
    }
    const auto reading_spec = config::to_reading_spec(asked);
    run_inputs out;
    out.model = load_model(reading_spec, reading);
    check_gradients(out.model, reading_spec.model.path);
    const auto& described = out.model.base->config();
    const auto tokens = load_tokenizer(reading_spec, described);
    const auto most = token_limit(reading_spec, described);
    const auto doubt = doubt_rows(reading_spec, *tokens, described);
    out.data = load_data(reading_spec, *tokens, most, kept, reading.tell);  // refuses public records that are private
    out.spec = resolve(asked, static_cast<std::int64_t>(out.data.train.size()), described);
    if (sharing) out.spec.choices.insert(out.spec.choices.begin(), std::move(*sharing));
    out.looks = make_look_rule(out.spec, described.vocab);
    out.held_out = make_held_out(out.spec, std::move(out.data.held_out), *tokens, most);
    if (out.spec.public_path) out.model = teach(out.spec, std::move(out.model));
    out.plan = plan_run(out.spec, described, out.model.layout);
    const auto ranks = reading.team ? static_cast<std::int64_t>(reading.team->ranks()) : 1;
    if (ranks < out.plan.least_ranks.value_or(1))
        out.plan.warnings.push_back(
            fmt::format("memory: the base is shared by {} ranks (model.shard); with such memory as is here it takes {}",
                        ranks, *out.plan.least_ranks));
    out.plan.counts = count_data(out.data);
    out.plan.warnings.insert(out.plan.warnings.end(), out.data.warnings.begin(), out.data.warnings.end());
    if (doubt) out.plan.warnings.push_back(*doubt);
    return out;
}

namespace {

/// Of the training units, and behind them of the audit's canaries that are in, each by its number: who else is in moves
/// none.
std::vector<std::uint16_t> find_groups(const run_inputs& of, const privacy::run_key& key,
                                       const eval::membership_record& who) {
    std::vector<std::uint16_t> out;
    if (of.plan.bands == 1) return out;
    require(of.data.train_ids.size() == of.data.train.size(), "groups: a training unit without an identity");
    const privacy::unit_groups groups(key, of.plan.bands);
    for (const auto id : of.data.train_ids) out.push_back(groups.find("unit", id));
    const auto add = [&](std::string_view kind, const std::vector<bool>& in) {
        for (std::size_t i = 0; i < in.size(); ++i)
            if (in[i]) out.push_back(groups.find(kind, i));
    };
    add("canary", who.canary_in);
    add("gradient canary", who.gradient_canary_in);
    return out;
}

}  // namespace

privacy::trusted<std::shared_ptr<const secrets>> take_secrets(run_inputs& ready, const privacy::run_key& key,
                                                              const eval::membership_record& who) {
    auto groups = find_groups(ready, key, who);
    ready.data.train_ids = {};
    return privacy::trusted<std::shared_ptr<const secrets>>(
        std::make_shared<secrets>(secrets{training_units(std::move(ready.data.train), ready.data.audit_canaries, who),
                                          key, make_gradient_canaries(ready.spec, ready.spec.clip, ready.model.layout),
                                          who.look_canary_in, std::move(groups), ready.plan.bands}));
}

std::vector<std::pair<std::string, std::string>> common_facts(const run_inputs& ready) {
    if (ready.spec.privacy.semantics == semantics::as_published)
        refuse(
            "privacy.semantics: as_published releases raw statistics of whole batches, which no rank has; run it in "
            "one "
            "process, without --workers and launcher");
    std::vector<std::pair<std::string, std::string>> out{
        {"version of rldp", RLDP_VERSION},
        {"configuration", privacy::sha256(config::common_json(ready.spec.config))},
        {"model", ready.model.digest},
        {"table", ready.data.digest}};
    // Where nothing is charged for rounding, a unit has the same bits wherever it is computed.
    if (ready.plan.rounding_margin == 0) {
        // The records of a unit that a pass has not room for are divided between several.
        const auto together = make_gradient_settings(ready.spec, ready.model).micro_batch;
        out.emplace_back("number of a unit's records in a pass, from its threads,",
                         std::to_string(std::min(together, ready.spec.records_per_unit)));
        out.emplace_back("result of the same arithmetic, from its processor, libraries or threads,",
                         digest_of_arithmetic(ready.spec, ready.model, ready.plan.max_tokens));
    }
    return out;
}

joined_run join_run(const config::run_config& asked, const std::filesystem::path& directory, const opening& how,
                    ranks::team& team) {
    // What public records teach, rank 0 tells with the adapter.
    const auto kept = cached_corpus::of_run(config::to_reading_spec(asked), directory, how.corpora, false);
    auto ready = load_run_inputs(asked, [](const auto&, run_model model) { return model; }, kept.get(),
                                 {.identify = true, .team = &team});
    team.agree(common_facts(ready));
    const auto key = team.share({});
    auto ledger = std::make_shared<privacy::ledger_copy>(team.broadcast());
    const auto hmac = test_hooks::data_hmac(key.hmac(ready.data.digest));
    refuse_unless(
        ledger->content().header.data_hmac == hmac,
        "the ledger of rank 0 was begun on other training data than data.path " + asked.data.path + " gives here");
    const auto who = eval::membership_from(team.broadcast(), "what rank 0 says of the audit's canaries");
    auto closed = take_secrets(ready, key, who);
    return {std::move(ready.spec), std::move(ready.plan), std::move(ready.model), std::move(ledger), std::move(closed)};
}

}  // namespace rldp::actors

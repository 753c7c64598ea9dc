#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.hpp"
#include "base/files.hpp"
#include "data/units/corpus.hpp"
#include "eval/audit/attacks.hpp"
#include "eval/audit/statistics/membership_inference.hpp"
#include "eval/audit/statistics/secrets.hpp"
#include "privacy/accounting/accountant.hpp"
#include "run/artifacts/run_directory.hpp"
#include "run/audit/audit.hpp"
#include "run/audit_evidence.hpp"

namespace rldp::actors {

namespace {

/// A training unit with a planted secret, and its record without it.
struct carrier {
    std::uint64_t id;
    std::string profile, secret;
    data::unit_place place;  ///< in the owner's file
};

std::vector<carrier> list_carriers(const audited_run& run) {
    std::vector<carrier> out;
    for (const auto& unit : run.pool.units.carriers) {
        const auto& record = unit.records.front();
        const auto tail = data::with_secret("", *unit.canary).size();
        out.push_back({unit.id, record.substr(0, record.size() - tail), *unit.canary, unit.place});
    }
    return out;
}

std::string in_words(const data::unit_place& place) {
    auto out = fmt::format("line {}", place.line);
    if (!place.key.empty()) out += ", record " + place.key;
    if (!place.group.empty()) out += ", of " + place.group;
    return out;
}

std::string instruction(const std::string& path, const std::string& profile) {
    const std::string slot = "{profile}";
    auto text = read_file(path);
    const auto where = text.find(slot);
    if (where == std::string::npos || text.find(slot, where + 1) != std::string::npos)
        refuse(path + ": audit.prompt must have {profile} once, where the record goes");
    return text.replace(where, slot.size(), profile);
}

eval::extraction_result extract_with(const audited_run& run, const std::string& name,
                                     const std::vector<std::string>& prompts, const std::vector<carrier>& carriers) {
    const eval::extraction_config how{.trials = run.spec.audit.trials,
                                      .seed = static_cast<std::uint64_t>(run.spec.seed)};
    std::vector<eval::token_ids> ids;
    for (const auto& prompt : prompts)
        ids.push_back(eval::fit_prompt(run.words->encode(prompt), run.model.base->config(), how.max_new_tokens));
    std::vector<std::string> valid, canaries;
    for (const auto& text : eval::continue_prompts(run.tuned(), *run.words, ids, how))
        if (auto secret = eval::leading_secret(text); !secret.empty()) valid.push_back(std::move(secret));
    for (const auto& one : carriers) canaries.push_back(one.secret);
    const std::set<std::string> distinct(valid.begin(), valid.end());
    return {
        .prompt = name,
        .trials = how.trials,
        .valid = std::ssize(valid),
        .canaries = std::ssize(canaries),
        .found = std::count_if(canaries.begin(), canaries.end(), [&](const auto& s) { return distinct.contains(s); }),
        .likeness = eval::jaccard(valid, canaries)};
}

/// Secrets to compare with: all others of the same length where those are few, else made-up ones.
std::vector<std::string> references_for(const audited_run& run, const std::string& secret) {
    constexpr std::int64_t enumerable = 3;
    const auto length = std::ssize(secret);
    if (length > enumerable)
        return data::make_secrets(run.spec.data.split_seed, "reference", run.spec.audit.references, length);
    auto out = data::all_secrets(length);
    std::erase(out, secret);
    return out;
}

/// −Σ log₂ p of each secret after the record, the full stop behind it included.
std::vector<double> log_perplexities(const audited_run& run, const std::string& profile,
                                     const std::vector<std::string>& secrets) {
    std::vector<eval::token_ids> texts;
    for (const auto& secret : secrets) texts.push_back(run.words->encode(data::with_secret(profile, secret)));
    // A token may lie across the end of "secret_id=": what all texts begin with is the prompt.
    auto common = run.words->encode(data::up_to_secret(profile));
    for (const auto& text : texts)
        common.erase(std::mismatch(common.begin(), common.end(), text.begin(), text.end()).first, common.end());
    std::size_t longest = 0;
    for (auto& text : texts) {
        text.erase(text.begin(), text.begin() + std::ssize(common));
        longest = std::max(longest, text.size());
    }
    // What training saw of the record: its last tokens.
    const auto room = token_limit(run.spec, run.model.base->config()) - static_cast<std::int64_t>(longest);
    if (room < 1) refuse("data.max_tokens: a secret alone is longer, so none was trained on; raise it");
    if (std::ssize(common) > room) common.erase(common.begin(), common.end() - room);
    auto out = eval::continuation_log_likelihoods(run.tuned(), common, texts);
    for (auto& value : out) value /= -std::log(2.0);
    return out;
}

eval::canary_exposure compute_exposure(const carrier& one, double found, const std::vector<double>& references,
                                       bool all) {
    eval::canary_exposure out{.unit = fmt::format("{:016x}", one.id),
                              .where = in_words(one.place),
                              .log_perplexity = found,
                              .rank = eval::rank_exposure(found, references),
                              .extrapolated = {},
                              .fit_p_value = {}};
    if (all) return out;
    const auto fit = eval::fit_skew_normal(references);
    out.extrapolated = eval::extrapolated_exposure(found, fit.law);
    out.fit_p_value = fit.p_value;
    return out;
}

eval::likelihoods compute_likelihoods(const audited_run& run, const std::vector<data::unit>& units) {
    eval::likelihoods out;
    std::vector<eval::split_text> texts;
    for (const auto& unit : units) {
        const auto& record = unit.records.front();
        const auto& named = run.spec.audit.ending;
        const auto begins = named ? record.find(*named) : 0;
        auto cut = begins == std::string::npos ? std::nullopt : run.split(record, begins);
        if (cut)
            texts.push_back(std::move(*cut));
        else
            ++out.discarded;
    }
    out.scores = eval::end_log_likelihoods(run.tuned(), texts);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        out.scores[i] /= static_cast<double>(texts[i].tokens.size() - texts[i].end);
        out.mean_log_p += out.scores[i] / static_cast<double>(texts.size());
        out.mean_perplexity += std::exp(-out.scores[i]) / static_cast<double>(texts.size());
    }
    return out;
}

/// How much likelier training made each canary's secret: higher for those that were in.
std::vector<double> secret_scores(const audited_run& run) {
    std::vector<eval::split_text> texts;
    for (const auto& canary : run.pool.canaries) {
        const auto& record = canary.records.front();
        auto cut = run.split(record, record.size() - canary.canary->size() - 1);
        if (!cut) refuse("data.max_tokens: too short for the audit's canaries; raise it");
        texts.push_back(std::move(*cut));
    }
    auto out = eval::end_log_likelihoods(run.tuned(), texts);
    const auto before = eval::end_log_likelihoods(run.base(), texts);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] -= before[i];
    return out;
}

std::int64_t count_guesses(const config::audit_section& how, std::size_t canaries) {
    const auto half = static_cast<std::int64_t>(canaries) / 2;
    return how.guesses.value_or(half - half % 2);
}

}  // namespace

std::vector<eval::extraction_result> extract(const audited_run& run, lines& left_out) {
    const auto carriers = list_carriers(run);
    if (carriers.empty()) {
        left_out.emplace_back("extraction and exposure: the run has no planted canaries; train with data.canaries 10");
        return {};
    }
    std::vector<eval::extraction_result> out;
    std::vector<std::string> prompts;
    if (const auto& path = run.spec.audit.prompt) {
        for (const auto& one : carriers) prompts.push_back(instruction(*path, one.profile));
        out.push_back(extract_with(run, "instruction", prompts, carriers));
    } else {
        left_out.emplace_back(
            "extraction by instruction: audit.prompt names no file; config/canary-prompt.txt is the published one");
    }
    prompts.clear();
    for (const auto& one : carriers) prompts.push_back(data::up_to_secret(one.profile));
    out.push_back(extract_with(run, "record", prompts, carriers));
    return out;
}

std::optional<eval::exposure_result> expose(const audited_run& run) {
    const auto carriers = list_carriers(run);
    if (carriers.empty()) return std::nullopt;  // extract() has said so
    eval::exposure_result out;
    for (const auto& one : carriers) {
        auto secrets = references_for(run, one.secret);
        out.all = std::ssize(secrets) + 1 == data::count_of_secrets(std::ssize(one.secret));
        out.references = std::ssize(secrets);
        secrets.push_back(one.secret);
        auto found = log_perplexities(run, one.profile, secrets);
        const double own = found.back();
        found.pop_back();
        out.canaries.push_back(compute_exposure(one, own, found, out.all));
        if (out.reference_log_perplexities.empty()) out.reference_log_perplexities = std::move(found);
    }
    return out;
}

std::optional<eval::membership_result> guess_members(const audited_run& run, lines& left_out) {
    const auto& units = run.pool.units;
    if (units.non_members.empty()) {
        left_out.emplace_back("membership: no unit fell on the Attack side; give more records");
        return std::nullopt;
    }
    eval::membership_result out{.members = compute_likelihoods(run, units.members),
                                .non_members = compute_likelihoods(run, units.non_members),
                                .attack = {},
                                .scored = run.spec.audit.ending ? "its ending" : "the whole record"};
    if (out.members.scores.empty() || out.non_members.scores.empty())
        left_out.push_back(fmt::format(
            "membership: no record of {} has the ending \"{}\"; give --ending what ends the records",
            out.members.scores.empty() ? "the training units" : "the Attack side", run.spec.audit.ending.value_or("")));
    out.attack = eval::measure_separation(out.members.scores, out.non_members.scores);
    return out;
}

std::vector<eval::bound_result> bound_epsilon(const audited_run& run, lines& left_out) {
    const auto &text_in = run.who.canary_in, &gradient_in = run.who.gradient_canary_in,
               &look_in = run.who.look_canary_in;
    const int kinds = (text_in.empty() ? 0 : 1) + (gradient_in.empty() ? 0 : 1) + (look_in.empty() ? 0 : 1);
    if (kinds == 0) {
        left_out.emplace_back(
            "lower bound on ε: the run has no canaries with a coin; train with audit.canaries or "
            "audit.gradient_canaries 1000");
        return {};
    }
    const double beta = (1 - run.spec.audit.confidence) / kinds;
    const auto bound = [&](const char* name, const std::vector<double>& scores, const std::vector<bool>& in) {
        const auto seen = eval::guess_by_score(scores, in, count_guesses(run.spec.audit, in.size()));
        auto at_best = seen;
        at_best.correct = at_best.guesses;
        if (eval::epsilon_lower_bound(at_best, run.header.delta, beta) == 0)
            left_out.push_back(
                fmt::format("lower bound on ε from {}: with {} guesses at {} canaries it is 0, even if all are right; "
                            "train with more",
                            name, seen.guesses, seen.canaries));
        return eval::bound_result{
            .canaries = name,
            .seen = seen,
            .epsilon = eval::epsilon_lower_bound(seen, run.header.delta, beta),
            .gaussian_epsilon = privacy::gaussian_epsilon(eval::mu_lower_bound(seen, beta), run.header.delta),
            .confidence = 1 - beta};
    };
    std::vector<eval::bound_result> out;
    if (!text_in.empty()) out.push_back(bound("records", secret_scores(run), text_in));
    if (!look_in.empty()) {
        const auto trace = run.where.look_trace();
        if (std::filesystem::exists(trace))
            out.push_back(bound("looks", look_scores(read_look_trace(trace), look_in.size()), look_in));
        else
            left_out.push_back("lower bound on ε from look canaries: " + trace.string() +
                               " is missing; bring it back, or wait for the first look");
    }
    if (gradient_in.empty()) return out;
    if (!run.trace.defined()) {
        left_out.push_back("lower bound on ε from gradient canaries: " + run.where.trace().string() +
                           " is missing; bring it back");
        return out;
    }
    const auto canaries = make_gradient_canaries(run.spec, run.clip, run.model.layout);
    out.push_back(bound("gradients", eval::trace_scores(canaries, run.trace, std::ssize(gradient_in)), gradient_in));
    return out;
}

// LiRA: the run's likelihoods beside those of shadow runs, which trained on a random half of the targets.

namespace {

struct targets {
    std::vector<eval::split_text> texts;  ///< members first; their whole records, as training cuts them
    std::vector<std::uint64_t> ids;
    std::size_t members = 0;
};

targets list_targets(const audited_run& run) {
    targets out;
    const auto add = [&](const std::vector<data::unit>& units) {
        for (const auto& unit : units) {
            auto text = run.split(unit.records.front(), 0);
            if (!text) continue;
            out.texts.push_back(std::move(*text));
            out.ids.push_back(unit.id);
        }
    };
    add(run.pool.units.members);
    out.members = out.ids.size();
    add(run.pool.units.non_members);
    return out;
}

std::vector<double> compute_log_odds(const eval::attacked_model& model, const targets& of) {
    constexpr double least = 1e-9;  // nats per token: float32 knows no smaller loss but 0
    auto out = eval::end_log_likelihoods(model, of.texts);
    for (std::size_t i = 0; i < out.size(); ++i) {
        const auto tokens = static_cast<double>(of.texts[i].tokens.size() - of.texts[i].end);
        out[i] = eval::log_odds(std::max(least, -out[i] / tokens));
    }
    return out;
}

eval::shadow_model load_shadow(const audited_run& run, const targets& of, const std::filesystem::path& directory) {
    const eval::run_directory where{directory};
    const auto config = eval::read_configuration(where);
    if (!config.audit.shadow || config.data.split_seed != run.spec.data.split_seed)
        refuse(directory.string() + ": is no shadow run of this one");
    const auto loaded = released_adapter(where, run.model);
    eval::shadow_model out;
    out.phi = compute_log_odds({*run.model.base, &loaded.layout, &loaded.flat, run.micro_batch}, of);
    for (const auto id : of.ids)
        out.trained_on.push_back(data::in_shadow(run.spec.data.split_seed, *config.audit.shadow, id));
    return out;
}

eval::separation measure_separation(const std::vector<std::optional<double>>& scores, std::size_t members) {
    std::vector<double> in, out;
    for (std::size_t i = 0; i < scores.size(); ++i)
        if (scores[i]) (i < members ? in : out).push_back(*scores[i]);
    return eval::measure_separation(in, out);
}

}  // namespace

std::optional<eval::shadow_result> compare_with_shadows(const audited_run& run,
                                                        const std::vector<std::filesystem::path>& directories,
                                                        lines& left_out) {
    const auto of = list_targets(run);
    if (of.members == of.ids.size()) return std::nullopt;  // guess_members() has said so
    std::vector<eval::shadow_model> shadows;
    for (const auto& directory : directories) shadows.push_back(load_shadow(run, of, directory));
    const auto own = compute_log_odds(run.tuned(), of);
    eval::shadow_result out{.shadows = std::ssize(shadows),
                            .offline = measure_separation(eval::offline_scores(own, shadows), of.members),
                            .online = measure_separation(eval::online_scores(own, shadows), of.members)};
    if (!out.online.auc)
        left_out.emplace_back(
            "online LiRA: too few shadow runs to have seen targets in and out; give --shadows 4 or more");
    return out;
}

}  // namespace rldp::actors

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/error.hpp"
#include "base/files.hpp"
#include "eval/audit/report/report.hpp"
#include "run/artifacts/json_number.hpp"

namespace rldp::eval {

separation measure_separation(const std::vector<double>& members, const std::vector<double>& non_members) {
    return {.auc = auc(members, non_members),
            .at_tenth_percent = true_positives_at(0.001, members, non_members),
            .at_percent = true_positives_at(0.01, members, non_members),
            .curve = roc_curve(members, non_members)};
}

std::optional<double> audited_epsilon(const audit_report& report) {
    if (report.bounds.empty()) return std::nullopt;
    return std::max_element(report.bounds.begin(), report.bounds.end(),
                            [](const auto& a, const auto& b) { return a.epsilon < b.epsilon; })
        ->epsilon;
}

std::string verdict(const audit_report& report) {
    const auto claimed = std::isfinite(report.claimed_epsilon) ? fmt::format("claimed ≤ {:.2f}", report.claimed_epsilon)
                                                               : std::string("nothing claimed");
    const auto audited = audited_epsilon(report);
    if (!audited) return claimed + "; no bound audited";
    return fmt::format("{}; audited ≥ {:.2f} ({:g} %)", claimed, *audited, 100 * report.confidence);
}

audit_point make_point(const audit_report& report) {
    audit_point out{.step = report.step, .auc = {}, .mean_exposure = {}, .epsilon = audited_epsilon(report)};
    if (report.membership) out.auc = report.membership->attack.auc;
    if (report.exposure && !report.exposure->canaries.empty()) {
        const auto& all = report.exposure->canaries;
        const double sum = std::accumulate(all.begin(), all.end(), 0.0,
                                           [](double total, const auto& one) { return total + one.rank; });
        out.mean_exposure = sum / static_cast<double>(all.size());
    }
    return out;
}

// What an audit comes to, in a sentence or two.

namespace {

/// An attack's best figure, and how often chance alone does as well.
struct outcome_by_chance {
    std::string what;
    double p;
};

/// Mann and Whitney (1947), by the normal law: how often scores that know nothing have an AUC as high.
double chance_of_auc(double auc, std::size_t members, std::size_t others) {
    const auto n = static_cast<double>(members), m = static_cast<double>(others);
    const double deviation = std::sqrt((n + m + 1) / (12 * n * m));
    return 0.5 * std::erfc((auc - 0.5) / deviation / std::numbers::sqrt2);
}

/// The rank of a secret that was not learned is uniform, so its exposure reaches x bits with probability 2^−x at most.
double chance_of_exposure(double bits, std::size_t secrets) {
    return -std::expm1(static_cast<double>(secrets) * std::log1p(-std::exp2(-bits)));
}

void add_membership(const audit_report& report, std::vector<outcome_by_chance>& to) {
    if (!report.membership) return;
    const auto& of = *report.membership;
    const auto add = [&](const std::string& name, const std::optional<double>& auc) {
        if (auc)
            to.push_back({fmt::format("{} has AUC {:.3f}", name, *auc),
                          chance_of_auc(*auc, of.members.scores.size(), of.non_members.scores.size())});
    };
    add("membership", of.attack.auc);
    if (report.shadows) {
        add("LiRA offline", report.shadows->offline.auc);
        add("LiRA online", report.shadows->online.auc);
    }
}

void add_exposure(const audit_report& report, std::vector<outcome_by_chance>& to) {
    if (!report.exposure || report.exposure->canaries.empty()) return;
    const auto& all = report.exposure->canaries;
    const double most =
        std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; })->rank;
    to.push_back({fmt::format("the largest exposure of {} secret{} is {:.1f} bits", all.size(),
                              all.size() == 1 ? "" : "s", most),
                  chance_of_exposure(most, all.size())});
}

std::string in_words(const std::vector<outcome_by_chance>& all) {
    std::vector<std::string> out;
    out.reserve(all.size());
    for (const auto& one : all) out.push_back(fmt::format("{}, p = {:.2g}", one.what, one.p));
    return fmt::format("{}", fmt::join(out, "; "));
}

}  // namespace

std::string conclusion(const audit_report& report) {
    const auto bound = audited_epsilon(report);
    if (bound && *bound > report.claimed_epsilon)
        return fmt::format("The claim is REFUTED: whoever keeps ε = {:.2f} lets nobody guess so many canaries right.",
                           report.claimed_epsilon);
    std::vector<outcome_by_chance> tried;
    add_membership(report, tried);
    add_exposure(report, tried);
    std::int64_t found = 0;
    for (const auto& one : report.extractions) found = std::max(found, one.found);
    if (tried.empty() && !bound && report.extractions.empty())
        return "Nothing was attacked: this run has neither canaries nor records to compare. See what was left out.";
    std::vector<std::string> won;
    if (found > 0) won.push_back(fmt::format("{} planted secret{} came out whole", found, found == 1 ? "" : "s"));
    if (bound && *bound > 0)
        won.push_back(fmt::format("coins of canaries were guessed better than chance (ε ≥ {:.2f})", *bound));
    std::erase_if(tried, [&, tests = static_cast<double>(tried.size())](const auto& one) {
        const bool significant = one.p * tests < 0.05;  // Bonferroni
        if (significant) won.push_back(fmt::format("{} (p = {:.2g})", one.what, one.p));
        return significant;
    });
    const auto rest = tried.empty() ? std::string() : ": " + in_words(tried);
    if (won.empty())
        return fmt::format("No attack beat chance{}. Other attacks may do better; the contract holds against all.",
                           rest);
    return fmt::format("Beyond chance: {}.{}", fmt::join(won, "; "),
                       tried.empty() ? std::string() : " Within chance" + rest + ".");
}

// audit.json.

namespace {

using json = nlohmann::ordered_json;

json number_or_null(const std::optional<double>& value) {
    return value ? json_number(*value) : json(nullptr);
}

json to_json_value(const extraction_result& one) {
    json out = {{"prompt", one.prompt}, {"trials", one.trials},     {"valid", one.valid},
                {"found", one.found},   {"canaries", one.canaries}, {"jaccard", nullptr}};
    if (!one.likeness) return out;
    out["jaccard"] = json::array();
    for (const auto& [mean, deviation] : *one.likeness)
        out["jaccard"].push_back({{"mean", mean}, {"deviation", deviation}});
    return out;
}

json to_json_value(const exposure_result& of) {
    json out = {{"references", of.references}, {"all_secrets", of.all}, {"canaries", json::array()}};
    for (const auto& one : of.canaries)
        out["canaries"].push_back({{"unit", one.unit},
                                   {"where", one.where},
                                   {"log_perplexity", json_number(one.log_perplexity)},
                                   {"rank_exposure", json_number(one.rank)},
                                   {"extrapolated_exposure", number_or_null(one.extrapolated)},
                                   {"fit_p_value", number_or_null(one.fit_p_value)}});
    return out;
}

json to_json_value(const std::optional<proportion>& of) {
    if (!of) return nullptr;
    return {{"rate", of->rate()}, {"count", of->count}, {"total", of->total}, {"interval", {of->low, of->high}}};
}

json to_json_value(const separation& of) {
    return {{"auc", number_or_null(of.auc)},
            {"tpr_at_0.001", to_json_value(of.at_tenth_percent)},
            {"tpr_at_0.01", to_json_value(of.at_percent)}};
}

json to_json_value(const likelihoods& of) {
    return {{"records", of.scores.size()},
            {"discarded", of.discarded},
            {"mean_log_probability", json_number(of.mean_log_p)},
            {"mean_perplexity", json_number(of.mean_perplexity)}};
}

json to_json_value(const audit_point& of) {
    return {{"step", of.step},
            {"auc", number_or_null(of.auc)},
            {"mean_exposure", number_or_null(of.mean_exposure)},
            {"epsilon", number_or_null(of.epsilon)}};
}

json to_json_value(const bound_result& of) {
    return {{"canaries", of.canaries},    {"count", of.seen.canaries}, {"guesses", of.seen.guesses},
            {"correct", of.seen.correct}, {"epsilon", of.epsilon},     {"gaussian_epsilon", of.gaussian_epsilon},
            {"confidence", of.confidence}};
}

std::optional<double> optional_number(const json& value) {
    return value.is_null() ? std::nullopt : std::optional(number_from(value));
}

}  // namespace

std::string audit_json(const audit_report& report) {
    json out = {{"run", report.run},
                {"method", report.method},
                {"step", report.step},
                {"steps", report.steps},
                {"claimed_epsilon", json_number(report.claimed_epsilon)},
                {"delta", report.delta},
                {"audited_epsilon", number_or_null(audited_epsilon(report))},
                {"confidence", report.confidence},
                {"bounds", json::array()},
                {"membership", nullptr},
                {"lira", nullptr},
                {"exposure", nullptr},
                {"extraction", json::array()},
                {"course", json::array()},
                {"left_out", report.left_out},
                {"seconds", report.seconds}};
    for (const auto& one : report.bounds) out["bounds"].push_back(to_json_value(one));
    if (const auto& found = report.membership)
        out["membership"] = {{"members", to_json_value(found->members)},
                             {"non_members", to_json_value(found->non_members)},
                             {"attack", to_json_value(found->attack)}};
    if (const auto& found = report.shadows)
        out["lira"] = {{"shadows", found->shadows},
                       {"offline", to_json_value(found->offline)},
                       {"online", to_json_value(found->online)}};
    if (report.exposure) out["exposure"] = to_json_value(*report.exposure);
    for (const auto& one : report.extractions) out["extraction"].push_back(to_json_value(one));
    for (const auto& one : report.course) out["course"].push_back(to_json_value(one));
    return out.dump(2) + "\n";
}

std::vector<audit_point> read_course(const std::filesystem::path& path) {
    try {
        const auto read = json::parse(read_text(path));
        std::vector<audit_point> out;
        for (const auto& one : read.at("course"))
            out.push_back({.step = one.at("step"),
                           .auc = optional_number(one.at("auc")),
                           .mean_exposure = optional_number(one.at("mean_exposure")),
                           .epsilon = optional_number(one.at("epsilon"))});
        return out;
    } catch (const nlohmann::json::exception&) {
        refuse(path.string() + ": is no audit report of this version; remove it");
    }
}

}  // namespace rldp::eval

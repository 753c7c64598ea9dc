// audit.json.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "eval/audit/report/report.hpp"
#include "eval/metrics/json_number.hpp"

namespace rldp::eval {

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
        out["lira"] = {
            {"shadows", found->shadows}, {"offline", to_json_value(found->offline)}, {"online", to_json_value(found->online)}};
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

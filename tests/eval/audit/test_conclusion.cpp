#include <cmath>

#include "eval/audit/report/report.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp::eval;

namespace {

membership_result membership(double auc, std::size_t each) {
    membership_result out;
    out.members.scores.assign(each, 0);
    out.non_members.scores.assign(each, 0);
    out.attack.auc = auc;
    return out;
}

exposure_result exposures(const std::vector<double>& bits) {
    exposure_result out{.references = 1000, .all = false, .canaries = {}, .reference_log_perplexities = {}};
    for (const double one : bits)
        out.canaries.push_back({.unit = "u", .where = "line 1", .rank = one, .extrapolated = {}, .fit_p_value = {}});
    return out;
}

audit_report claimed(double epsilon) {
    audit_report out;
    out.claimed_epsilon = epsilon;
    out.confidence = 0.95;
    return out;
}

bound_result bound(double epsilon) {
    return {.canaries = "records", .seen = {}, .epsilon = epsilon, .gaussian_epsilon = epsilon, .confidence = 0.95};
}

}  // namespace

TEST_CASE("an audit within chance says so, and how likely that is") {
    auto report = claimed(2);
    report.membership = membership(0.502, 1000);
    report.exposure = exposures({1.2, 4.2, 0.3, 2, 1, 1, 0.5, 0.1});
    report.bounds = {bound(0)};
    report.extractions.push_back({.prompt = "record", .found = 0, .likeness = {}});
    const auto said = conclusion(report);
    CHECK(has(said, "No attack beat chance"));
    // sd of an AUC of 1000 and 1000 is 0.01291, so z = 0.155; 1 - (1 - 2^-4.2)^8 = 0.3592.
    CHECK(has(said, "membership has AUC 0.502, p = 0.44"));
    CHECK(has(said, "the largest exposure of 8 secrets is 4.2 bits, p = 0.36"));
    CHECK(has(said, "Other attacks may do better"));
}

TEST_CASE("an attack that beats chance is named, by its worth after Bonferroni") {
    auto report = claimed(8);
    report.membership = membership(0.56, 1000);  // z = 4.6
    report.exposure = exposures({1});
    CHECK(has(conclusion(report), "Beyond chance: membership has AUC 0.560 (p = 1.7e-06)"));
    CHECK(has(conclusion(report), "Within chance: the largest exposure of 1 secret is 1.0 bits, p = 0.5"));
    // p = 0.031 would do alone, and not for the better of two.
    report.membership = membership(0.524, 1000);
    CHECK(has(conclusion(report), "No attack beat chance"));
    report.exposure.reset();
    CHECK(has(conclusion(report), "Beyond chance: membership has AUC 0.524"));
    auto leaked = claimed(8);
    leaked.extractions.push_back({.prompt = "record", .found = 2, .likeness = {}});
    CHECK(has(conclusion(leaked), "2 planted secrets came out whole"));
    auto guessed = claimed(8);
    guessed.bounds = {bound(0.4)};
    CHECK(has(conclusion(guessed), "guessed better than chance (ε ≥ 0.40)"));
}

TEST_CASE("a claim below what was audited is refuted before all else") {
    auto report = claimed(1);
    report.bounds = {bound(1.5)};
    report.membership = membership(0.9, 1000);
    CHECK(conclusion(report).starts_with("The claim is REFUTED"));
    CHECK(has(audit_text(report).substr(0, 40), "REFUTED"));
    CHECK(has(audit_html(report), "note bad"));
}

TEST_CASE("an audit that attacked nothing says so") {
    CHECK(has(conclusion(claimed(1)), "Nothing was attacked"));
}

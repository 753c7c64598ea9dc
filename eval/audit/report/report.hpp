#pragma once
// What an audit found, and its files trusted/audit/audit.json and audit.html. It speaks of training units: for the data
// owner, never for the public side.
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "eval/audit/statistics/membership_inference.hpp"
#include "eval/audit/statistics/one_run_bound.hpp"
#include "eval/audit/statistics/secrets.hpp"

namespace rldp::eval {

/// The published attack: continue a prompt that ends in "secret_id=".
struct extraction_result {
    std::string prompt;  ///< "instruction": audit.prompt; "record": the record alone
    std::int64_t trials = 0;
    std::int64_t valid = 0;                                        ///< V: outputs that begin with a secret
    std::int64_t canaries = 0;                                     ///< m
    std::int64_t found = 0;                                        ///< canaries that came out whole, at least once
    std::optional<std::array<similarity, longest_gram>> likeness;  ///< of all V × m pairs
};

struct canary_exposure {
    std::string unit;                    ///< hex id of the record that carries it
    std::string where;                   ///< in the data: its line, and the values of its key columns; private
    double log_perplexity = 0;           ///< −Σ log₂ p of the secret after its record, bits
    double rank = 0;                     ///< rank_exposure among the references, bits
    std::optional<double> extrapolated;  ///< bits; absent where all secrets that exist are references
    std::optional<double> fit_p_value;   ///< of the fit behind it
};

struct exposure_result {
    std::int64_t references = 0;
    bool all = false;  ///< the references are all other secrets of that length
    std::vector<canary_exposure> canaries;
    std::vector<double> reference_log_perplexities;  ///< of the first canary's record, for the figure
};

/// One side of the membership attack.
struct likelihoods {
    std::vector<double> scores;  ///< mean log p of the tokens that are scored, nats
    double mean_log_p = 0;
    double mean_perplexity = 0;  ///< mean of exp(−score)
    std::int64_t discarded = 0;  ///< records that have no ending to split off
};

/// How well scores tell members from non-members; absent where a side is empty.
struct separation {
    std::optional<double> auc;
    std::optional<proportion> at_tenth_percent, at_percent;  ///< true positives at 0.1 % and 1 % false positives
    std::vector<roc_point> curve;
};
separation measure_separation(const std::vector<double>& members, const std::vector<double>& non_members);

struct membership_result {
    likelihoods members, non_members;
    separation attack;
    std::string scored;  ///< "the whole record", or "its ending"
};

struct shadow_result {
    std::int64_t shadows = 0;
    separation offline, online;
};

struct bound_result {
    std::string canaries;  ///< "records" | "gradients" | "looks"
    one_run_audit seen;
    double epsilon = 0;           ///< audited ≥
    double gaussian_epsilon = 0;  ///< audited ≥, if the run's trade-off curve is a Gaussian's
    double confidence = 0;        ///< of each of these bounds alone
};

/// A snapshot's figures, where a run is audited while it goes on.
struct audit_point {
    std::int64_t step = 0;
    std::optional<double> auc, mean_exposure;
    std::optional<double> epsilon;  ///< the larger bound
};

struct audit_report {
    std::string run, method;                ///< directory; method.name
    std::int64_t step = 0, steps = 0;       ///< behind the adapter that was attacked; planned
    double claimed_epsilon = 0, delta = 0;  ///< claimed: infinite where nothing is guaranteed
    double confidence = 0;                  ///< of all bounds together
    std::vector<extraction_result> extractions;
    std::optional<exposure_result> exposure;
    std::optional<membership_result> membership;
    std::optional<shadow_result> shadows;
    std::vector<bound_result> bounds;
    std::vector<audit_point> course;    ///< of earlier snapshots and this one
    std::vector<std::string> left_out;  ///< a line each: what is missing, why, how to get it
    double seconds = 0;
};

/// The largest of its bounds; absent without any.
std::optional<double> audited_epsilon(const audit_report& report);
/// "claimed ≤ 2.00; audited ≥ 0.41 (95 %)", or what there is of it.
std::string verdict(const audit_report& report);
/// What it comes to, in plain words: which attacks did better than chance does, and how often chance does as well.
std::string conclusion(const audit_report& report);
audit_point make_point(const audit_report& report);

std::string audit_json(const audit_report& report);
/// Only the points of an earlier audit.json. Errors: bad_input naming the file.
std::vector<audit_point> read_course(const std::filesystem::path& path);
/// For a terminal.
std::string audit_text(const audit_report& report);
std::string audit_html(const audit_report& report);

}  // namespace rldp::eval

#pragma once
// What made-up tables are drawn from. Internal.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rldp::data {

// Dice. Draws of the made-up tables.

using choice = std::pair<std::string_view, double>;  ///< a value and its weight, which is positive or 0
using choices = std::vector<choice>;

/// Portable: the standard's distributions differ between libraries.
class dice {
  public:
    explicit dice(std::uint64_t seed) : engine_(seed) {}

    double uniform() { return std::ldexp(static_cast<double>(engine_() >> 11), -53); }
    bool happens(double p) { return uniform() < p; }
    std::size_t index(std::size_t n) { return static_cast<std::size_t>(uniform() * static_cast<double>(n)); }
    double exponential(double mean) { return -mean * std::log1p(-uniform()); }
    double normal() {
        const double radius = std::sqrt(exponential(2));  // a statement of its own: the order of draws is fixed
        return radius * std::cos(2 * std::numbers::pi * uniform());
    }

    std::size_t pick_index(const choices& from) {
        double total = 0;
        for (const auto& c : from) total += c.second;
        double at = uniform() * total;
        for (std::size_t i = 0; i < from.size(); ++i)
            if ((at -= from[i].second) < 0) return i;
        return from.size() - 1;
    }
    std::string_view pick(const choices& from) { return from[pick_index(from)].first; }

    static std::string count(double value, int low, int high) {
        return std::to_string(std::clamp(static_cast<int>(std::lround(value)), low, high));
    }

  private:
    std::mt19937_64 engine_;
};

// Distributions. What values made-up encounters have, how often, and what ties them together.

struct distributions {
    choices races, genders, ages, weights;
    choices admission_types, discharges, emergency_sources, planned_sources;
    choices older_payers, younger_payers, specialties, procedures;
    choices first_diagnoses, other_diagnoses;
    choices glucose, haemoglobin, doses, insulin_doses;
    choices drug_rates;  ///< how often a drug is given at all; drugs that are not named are almost never given

    double mean_days, days_by_severity;       ///< of the stay; log ratio per unit of severity
    double laboratory, laboratory_per_day;    ///< procedures: at no days, for each
    double medications, medications_per_day;  ///< the same
    std::array<double, 3> visits;             ///< chance of any, as outpatient, in emergency, as inpatient
    double visits_by_severity;                ///< log ratio per unit of severity
    double missing_diagnoses;                 ///< mean number
    double insulin;                           ///< chance of any
    double readmission, readmission_by_severity, readmission_by_stay;  ///< log odds
    double soon;                                                       ///< chance that a readmission is within 30 days
};

/// World 0 looks like the UCI table. In others the values are the same and their frequencies and ties are drawn, each
/// world's from its number.
distributions make_distributions(std::uint64_t world);

}  // namespace rldp::data

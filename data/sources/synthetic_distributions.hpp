#pragma once
// What values made-up encounters have, how often, and what ties them together. Internal.
#include <array>
#include <cstdint>

#include "data/sources/dice.hpp"

namespace rldp::data {

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

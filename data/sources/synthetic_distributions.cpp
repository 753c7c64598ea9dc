// Marginals are rounded from the ones that Strack et al. 2014 (UCI data set 296, CC BY 4.0) report; the names of the
// codes are that data set's.
#include "data/sources/synthetic_distributions.hpp"

#include <cmath>

namespace rldp::data {

namespace {

distributions published() {
    return {
        .races = {{"Caucasian", .748},
                  {"AfricanAmerican", .189},
                  {"?", .022},
                  {"Hispanic", .020},
                  {"Other", .015},
                  {"Asian", .006}},
        .genders = {{"Female", .538}, {"Male", .462}},
        .ages = {{"[0-10)", .002},
                 {"[10-20)", .007},
                 {"[20-30)", .016},
                 {"[30-40)", .037},
                 {"[40-50)", .095},
                 {"[50-60)", .170},
                 {"[60-70)", .221},
                 {"[70-80)", .256},
                 {"[80-90)", .169},
                 {"[90-100)", .027}},
        .weights = {{"?", .969},
                    {"[75-100)", .013},
                    {"[50-75)", .009},
                    {"[100-125)", .006},
                    {"[125-150)", .002},
                    {"[25-50)", .001}},
        .admission_types = {{"1", .531}, {"3", .185}, {"2", .182}, {"6", .052}, {"5", .047}, {"8", .003}},
        .discharges = {{"1", .592},
                       {"3", .137},
                       {"6", .127},
                       {"18", .036},
                       {"2", .021},
                       {"22", .020},
                       {"11", .016},
                       {"5", .012},
                       {"25", .010},
                       {"4", .008},
                       {"7", .006},
                       {"14", .004},
                       {"13", .004}},
        .emergency_sources = {{"7", .88}, {"1", .05}, {"17", .03}, {"4", .03}, {"5", .01}},
        .planned_sources = {{"1", .62}, {"7", .20}, {"17", .10}, {"6", .04}, {"2", .02}, {"4", .02}},
        .older_payers = {{"?", .38}, {"MC", .48}, {"HM", .05}, {"BC", .03}, {"SP", .03}, {"UN", .02}, {"CP", .01}},
        .younger_payers = {{"?", .42},
                           {"MC", .12},
                           {"HM", .09},
                           {"SP", .09},
                           {"BC", .08},
                           {"MD", .08},
                           {"CP", .05},
                           {"UN", .04},
                           {"CM", .03}},
        .specialties = {{"?", .491},
                        {"InternalMedicine", .144},
                        {"Emergency/Trauma", .074},
                        {"Family/GeneralPractice", .073},
                        {"Cardiology", .053},
                        {"Surgery-General", .031},
                        {"Nephrology", .016},
                        {"Orthopedics", .014},
                        {"Radiologist", .011},
                        {"Pulmonology", .009},
                        {"Psychiatry", .008},
                        {"Urology", .007}},
        .procedures = {{"0", .459}, {"1", .204}, {"2", .125}, {"3", .093}, {"4", .041}, {"5", .030}, {"6", .048}},
        .first_diagnoses = {{"428", 67}, {"414", 65}, {"786", 40}, {"410", 36},   {"486", 35},
                            {"427", 27}, {"491", 22}, {"715", 21}, {"682", 20},   {"434", 20},
                            {"780", 20}, {"996", 19}, {"276", 19}, {"38", 17},    {"250.8", 17},
                            {"599", 16}, {"584", 15}, {"V57", 12}, {"250.6", 11}, {"250.02", 8}},
        .other_diagnoses = {{"250", 90},
                            {"276", 60},
                            {"428", 55},
                            {"401", 55},
                            {"427", 45},
                            {"414", 30},
                            {"496", 29},
                            {"599", 25},
                            {"403", 22},
                            {"585", 20},
                            {"250.02", 18},
                            {"707", 17},
                            {"272", 17},
                            {"285", 15},
                            {"780", 14},
                            {"V45", 12},
                            {"250.01", 11},
                            {"682", 10}},
        .glucose = {{"None", .948}, {"Norm", .026}, {">200", .015}, {">300", .012}},
        .haemoglobin = {{"None", .833}, {"Norm", .049}, {">7", .038}, {">8", .081}},
        .doses = {{"Steady", .90}, {"Up", .06}, {"Down", .04}},
        .insulin_doses = {{"Steady", .567}, {"Down", .225}, {"Up", .208}},
        .drug_rates = {{"metformin", .196},
                       {"glipizide", .125},
                       {"glyburide", .105},
                       {"pioglitazone", .072},
                       {"rosiglitazone", .063},
                       {"glimepiride", .051},
                       {"repaglinide", .015},
                       {"nateglinide", .007},
                       {"glyburide-metformin", .007},
                       {"acarbose", .003}},
        .mean_days = 2.9,
        .days_by_severity = .3,
        .laboratory = 35,
        .laboratory_per_day = 2,
        .medications = 11,
        .medications_per_day = 1.1,
        .visits = {.15, .10, .30},
        .visits_by_severity = .5,
        .missing_diagnoses = 2.2,
        .insulin = .53,
        .readmission = -.35,
        .readmission_by_severity = .3,
        .readmission_by_stay = .45,
        .soon = .2,
    };
}

/// Chances on the scale of log odds.
double moved(double chance, double by) {
    return chance > 0 ? 1 / (1 + (1 - chance) / chance * std::exp(-by)) : 0;
}

/// Differences between weights halve on the scale of logarithms, then each is multiplied by a log-normal number:
/// which value is the most frequent changes, and that some are rare does not.
void draw(choices& from, dice& by) {
    for (auto& [value, weight] : from) weight = std::sqrt(weight) * std::exp(by.normal());
}

distributions drawn(std::uint64_t world) {
    dice by(world);
    auto out = published();
    for (auto* one : {&out.races, &out.genders, &out.ages, &out.weights, &out.admission_types, &out.discharges,
                      &out.emergency_sources, &out.planned_sources, &out.older_payers, &out.younger_payers,
                      &out.specialties, &out.procedures, &out.first_diagnoses, &out.other_diagnoses, &out.glucose,
                      &out.haemoglobin, &out.doses, &out.insulin_doses})
        draw(*one, by);
    for (auto& [drug, rate] : out.drug_rates) rate = moved(rate, by.normal());
    for (auto* mean : {&out.mean_days, &out.laboratory, &out.laboratory_per_day, &out.medications,
                       &out.medications_per_day, &out.missing_diagnoses})
        *mean *= std::exp(.3 * by.normal());
    for (auto* tie :
         {&out.days_by_severity, &out.visits_by_severity, &out.readmission_by_severity, &out.readmission_by_stay})
        *tie *= std::exp(.7 * by.normal());
    for (auto& chance : out.visits) chance = moved(chance, .7 * by.normal());
    out.insulin = moved(out.insulin, .7 * by.normal());
    out.readmission += .7 * by.normal();
    out.soon = moved(out.soon, .7 * by.normal());
    return out;
}

}  // namespace

distributions make_distributions(std::uint64_t world) {
    return world == 0 ? published() : drawn(world);
}

}  // namespace rldp::data

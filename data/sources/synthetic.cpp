// Marginals are rounded from the ones that Strack et al. 2014 (UCI data set 296, CC BY 4.0) report; the names of the
// codes are that data set's. A patient has a latent severity, which ties the columns together.
#include "data/sources/synthetic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <initializer_list>
#include <iterator>
#include <numbers>
#include <random>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "config/base/error.hpp"
#include "config/base/limits.hpp"
#include "config/base/made_up.hpp"

namespace rldp::data {

namespace {

using choice = std::pair<std::string_view, double>;  ///< a value and its weight

class choices {
  public:
    choices(std::initializer_list<choice> all) : all_(all) {
        for (const auto& c : all_) total_ += c.second;
    }
    std::size_t size() const { return all_.size(); }
    const choice& operator[](std::size_t i) const { return all_[i]; }
    double total() const { return total_; }
    auto begin() const { return all_.begin(); }
    auto end() const { return all_.end(); }

  private:
    std::vector<choice> all_;
    double total_ = 0;
};

constexpr std::string_view column_names =
    "encounter_id patient_nbr race gender age weight admission_type_id discharge_disposition_id "
    "admission_source_id time_in_hospital payer_code medical_specialty num_lab_procedures num_procedures "
    "num_medications number_outpatient number_emergency number_inpatient diag_1 diag_2 diag_3 number_diagnoses "
    "max_glu_serum A1Cresult metformin repaglinide nateglinide chlorpropamide glimepiride acetohexamide "
    "glipizide glyburide tolbutamide pioglitazone rosiglitazone acarbose miglitol troglitazone tolazamide "
    "examide citoglipton insulin glyburide-metformin glipizide-metformin glimepiride-pioglitazone "
    "metformin-rosiglitazone metformin-pioglitazone change diabetesMed readmitted";

std::vector<std::string> split_words(std::string_view text) {
    std::istringstream in{std::string(text)};
    return {std::istream_iterator<std::string>(in), {}};
}

const std::vector<std::string> schema = split_words(column_names);

const choices races{{"Caucasian", .748}, {"AfricanAmerican", .189}, {"?", .022},
                    {"Hispanic", .020},  {"Other", .015},           {"Asian", .006}};
const choices genders{{"Female", .538}, {"Male", .462}};
const choices ages{{"[0-10)", .002},  {"[10-20)", .007}, {"[20-30)", .016}, {"[30-40)", .037}, {"[40-50)", .095},
                   {"[50-60)", .170}, {"[60-70)", .221}, {"[70-80)", .256}, {"[80-90)", .169}, {"[90-100)", .027}};
const choices weights{{"?", .969},         {"[75-100)", .013},  {"[50-75)", .009},
                      {"[100-125)", .006}, {"[125-150)", .002}, {"[25-50)", .001}};
const choices admission_types{{"1", .531}, {"3", .185}, {"2", .182}, {"6", .052}, {"5", .047}, {"8", .003}};
const choices discharges{{"1", .592}, {"3", .137},  {"6", .127}, {"18", .036}, {"2", .021},  {"22", .020}, {"11", .016},
                         {"5", .012}, {"25", .010}, {"4", .008}, {"7", .006},  {"14", .004}, {"13", .004}};
const choices emergency_sources{{"7", .88}, {"1", .05}, {"17", .03}, {"4", .03}, {"5", .01}};
const choices planned_sources{{"1", .62}, {"7", .20}, {"17", .10}, {"6", .04}, {"2", .02}, {"4", .02}};
const choices older_payers{{"?", .38}, {"MC", .48}, {"HM", .05}, {"BC", .03}, {"SP", .03}, {"UN", .02}, {"CP", .01}};
const choices younger_payers{{"?", .42},  {"MC", .12}, {"HM", .09}, {"SP", .09}, {"BC", .08},
                             {"MD", .08}, {"CP", .05}, {"UN", .04}, {"CM", .03}};
const choices specialties{
    {"?", .491},           {"InternalMedicine", .144}, {"Emergency/Trauma", .074}, {"Family/GeneralPractice", .073},
    {"Cardiology", .053},  {"Surgery-General", .031},  {"Nephrology", .016},       {"Orthopedics", .014},
    {"Radiologist", .011}, {"Pulmonology", .009},      {"Psychiatry", .008},       {"Urology", .007}};
const choices procedures{{"0", .459}, {"1", .204}, {"2", .125}, {"3", .093}, {"4", .041}, {"5", .030}, {"6", .048}};
const choices first_diagnoses{{"428", 67}, {"414", 65}, {"786", 40}, {"410", 36},   {"486", 35},
                              {"427", 27}, {"491", 22}, {"715", 21}, {"682", 20},   {"434", 20},
                              {"780", 20}, {"996", 19}, {"276", 19}, {"38", 17},    {"250.8", 17},
                              {"599", 16}, {"584", 15}, {"V57", 12}, {"250.6", 11}, {"250.02", 8}};
const choices other_diagnoses{{"250", 90}, {"276", 60}, {"428", 55}, {"401", 55}, {"427", 45},    {"414", 30},
                              {"496", 29}, {"599", 25}, {"403", 22}, {"585", 20}, {"250.02", 18}, {"707", 17},
                              {"272", 17}, {"285", 15}, {"780", 14}, {"V45", 12}, {"250.01", 11}, {"682", 10}};
const choices glucose{{"None", .948}, {"Norm", .026}, {">200", .015}, {">300", .012}};
const choices haemoglobin{{"None", .833}, {"Norm", .049}, {">7", .038}, {">8", .081}};
const choices doses{{"Steady", .90}, {"Up", .06}, {"Down", .04}};
const choices insulin_doses{{"Steady", .567}, {"Down", .225}, {"Up", .208}};

/// How often a drug is given at all; drugs that are not named here are almost never given.
const choices drug_rates{{"metformin", .196},    {"glipizide", .125},     {"glyburide", .105},
                         {"pioglitazone", .072}, {"rosiglitazone", .063}, {"glimepiride", .051},
                         {"repaglinide", .015},  {"nateglinide", .007},   {"glyburide-metformin", .007},
                         {"acarbose", .003}};

/// Portable draws: the standard's distributions differ between libraries.
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
        double at = uniform() * from.total();
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

/// Patients are as many as rows, nearly: 16 bytes each.
struct patient {
    double severity;      ///< standard normal
    std::uint32_t index;  ///< of all patients
    std::uint8_t race, gender, age;
    bool old;
};

class generator {
  public:
    explicit generator(std::uint64_t seed) : dice_(seed) {}

    /// The next encounter's cells, in the schema's order.
    const std::vector<std::string>& next() {
        const patient who = visitor();
        row_.clear();
        encounter_ += 6 + static_cast<std::int64_t>(dice_.index(4000));
        add(std::to_string(encounter_), std::to_string(10'000 + 17 * std::uint64_t{who.index}), races[who.race].first,
            genders[who.gender].first, ages[who.age].first, dice_.pick(weights));
        const auto discharge = admit(who);
        const double days = std::min(14.0, 1 + std::floor(dice_.exponential(2.9 * std::exp(0.3 * who.severity))));
        add(dice_.count(days, 1, 14));  // one draw per call: the order of arguments' evaluation is the compiler's
        add(dice_.pick(who.old ? older_payers : younger_payers));
        add(dice_.pick(specialties));
        add(dice_.count(35 + 2 * days + 17 * dice_.normal(), 1, 132));
        add(dice_.pick(procedures));
        add(dice_.count(11 + 1.1 * days + 1.5 * who.severity + 5 * dice_.normal(), 1, 81));
        const int stays = visits(who);
        diagnose(who);
        const bool given = medicate(who);
        add(given ? "Yes" : "No", readmission(who, discharge, stays));
        return row_;
    }

  private:
    template <class... Cells>
    void add(Cells&&... cells) {
        (row_.emplace_back(std::forward<Cells>(cells)), ...);
    }

    /// A new patient, or in three rows of ten one who came before.
    patient visitor() {
        if (!patients_.empty() && dice_.happens(.3)) return patients_[dice_.index(patients_.size())];
        const auto age = dice_.pick_index(ages);
        const bool old = age >= 6;  // sixty and more
        const auto race = dice_.pick_index(races);
        const auto gender = dice_.pick_index(genders);
        patients_.push_back({dice_.normal() + (old ? .2 : -.3), static_cast<std::uint32_t>(patients_.size()),
                             static_cast<std::uint8_t>(race), static_cast<std::uint8_t>(gender),
                             static_cast<std::uint8_t>(age), old});
        return patients_.back();
    }

    /// Adds type, discharge and source; returns the discharge.
    std::string_view admit(const patient& who) {
        const auto type = dice_.pick(admission_types);
        auto discharge = dice_.pick(discharges);
        if (who.severity < -.5 && discharge != "18" && discharge != "25") discharge = "1";  // the healthier go home
        const auto source = dice_.pick(type == "1" || type == "2" ? emergency_sources : planned_sources);
        add(type, discharge, source);
        return discharge;
    }

    /// Adds the three visit counts; returns the number of inpatient visits.
    int visits(const patient& who) {
        const double factor = std::exp(.5 * who.severity);
        int count = 0;
        for (const double chance : {.15, .10, .30}) {
            count = dice_.happens(std::min(.95, chance * factor)) ? 1 + static_cast<int>(dice_.exponential(.9)) : 0;
            add(std::to_string(count));
        }
        return count;
    }

    /// Adds three different diagnoses and their number.
    void diagnose(const patient& who) {
        const auto first = dice_.pick(first_diagnoses);
        auto second = dice_.pick(other_diagnoses);
        auto third = dice_.pick(other_diagnoses);
        while (second == first) second = dice_.pick(other_diagnoses);
        while (third == first || third == second) third = dice_.pick(other_diagnoses);
        if (dice_.happens(.012)) third = "?";
        if (third == "?" && dice_.happens(.25)) second = "?";
        const int named = 1 + (second != "?") + (third != "?");
        const auto all = third == "?" ? std::to_string(named)
                                      : dice_.count(9.9 + .8 * who.severity - dice_.exponential(2.2), named, 9);
        add(first, second, third, all);
    }

    /// Adds laboratory results, drugs and whether they were changed; returns whether any drug was given.
    bool medicate(const patient& who) {
        const auto result = dice_.pick(haemoglobin);
        add(dice_.pick(glucose), result);
        int given = 0, moved = 0;
        const auto first = std::find(schema.begin(), schema.end(), "metformin");
        for (auto drug = first; *drug != "change"; ++drug) {
            const bool insulin = *drug == "insulin";
            const double rate = insulin ? .53 + .05 * who.severity + (result == ">8" ? .2 : 0) : rate_of(*drug);
            const auto dose =
                dice_.happens(rate) ? dice_.pick(insulin ? insulin_doses : doses) : std::string_view("No");
            given += dose != "No";
            moved += dose == "Up" || dose == "Down";
            add(dose);
        }
        add(moved > 0 || (given > 1 && dice_.happens(.95)) ? "Ch" : "No");
        return given > 0;
    }

    static double rate_of(std::string_view drug) {
        for (const auto& [name, rate] : drug_rates)
            if (drug == name) return rate;
        return drug == "examide" || drug == "citoglipton" ? 0 : 3e-4;
    }

    std::string_view readmission(const patient& who, std::string_view discharge, int stays) {
        if (discharge == "11" || discharge == "13" || discharge == "14") return "NO";  // died or went to a hospice
        const double logit = -.35 + .3 * who.severity + .45 * std::min(stays, 6);
        if (!dice_.happens(1 / (1 + std::exp(-logit)))) return "NO";
        return dice_.happens(.2 + .04 * std::min(stays, 6)) ? "<30" : ">30";
    }

    dice dice_;
    std::int64_t encounter_ = 12'000;
    std::deque<patient> patients_;
    std::vector<std::string> row_;
};

}  // namespace

std::optional<std::int64_t> synthetic_size(const std::string& path) {
    if (!is_made_up(path)) return std::nullopt;
    const auto* begin = path.data() + made_up_prefix.size();
    const auto* end = path.data() + path.size();
    std::int64_t n = 0;
    const auto [stopped, status] = std::from_chars(begin, end, n);
    if (status != std::errc{} || stopped != end || n < 1 || n > limits::most_made_up_records)
        refuse(fmt::format("data.path: {}: the number of encounters must be an integer from 1 to {}", path,
                           limits::most_made_up_records));
    return n;
}

struct synthetic_stream::state {
    std::int64_t encounters, made;
    std::uint64_t seed;
    generator make;
};

synthetic_stream::synthetic_stream(std::int64_t encounters, std::uint64_t seed)
    : state_(new state{encounters, 0, seed, generator(seed)}) {}
synthetic_stream::~synthetic_stream() = default;

std::optional<table> synthetic_stream::next(std::int64_t rows) {
    if (state_->made == state_->encounters) return std::nullopt;
    table out(fmt::format("{}{}", made_up_prefix, state_->encounters), schema);
    for (const auto end = std::min(state_->encounters, state_->made + rows); state_->made < end; ++state_->made)
        out.add_row(state_->make.next(), static_cast<std::size_t>(state_->made) + 2);
    return out;
}

void synthetic_stream::rewind() {
    state_->made = 0;
    state_->make = generator(state_->seed);
}

table synthetic_table(std::int64_t encounters, std::uint64_t seed) {
    return std::move(*synthetic_stream(encounters, seed).next(encounters));
}

code_book synthetic_code_book() {
    return {{"admission_type_id",
             {{"1", "Emergency"},
              {"2", "Urgent"},
              {"3", "Elective"},
              {"5", "Not Available"},
              {"6", "NULL"},
              {"8", "Not Mapped"}}},
            {"discharge_disposition_id",
             {{"1", "Discharged to home"},
              {"2", "Discharged/transferred to another short term hospital"},
              {"3", "Discharged/transferred to SNF"},
              {"4", "Discharged/transferred to ICF"},
              {"5", "Discharged/transferred to another type of inpatient care institution"},
              {"6", "Discharged/transferred to home with home health service"},
              {"7", "Left AMA"},
              {"11", "Expired"},
              {"13", "Hospice / home"},
              {"14", "Hospice / medical facility"},
              {"18", "NULL"},
              {"22", "Discharged/transferred to another rehab fac including rehab units of a hospital ."},
              {"25", "Not Mapped"}}},
            {"admission_source_id",
             {{"1", "Physician Referral"},
              {"2", "Clinic Referral"},
              {"4", "Transfer from a hospital"},
              {"5", "Transfer from a Skilled Nursing Facility (SNF)"},
              {"6", "Transfer from another health care facility"},
              {"7", "Emergency Room"},
              {"17", "NULL"}}}};
}

}  // namespace rldp::data

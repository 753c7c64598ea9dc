// A patient has a latent severity, which ties the columns together.
#include "data/sources/synthetic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "base/kinds.hpp"
#include "data/sources/synthetic_distributions.hpp"

namespace rldp::data {

namespace {

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

/// Patients are as many as rows, nearly: 16 bytes each.
struct patient {
    double severity;      ///< standard normal
    std::uint32_t index;  ///< of all patients
    std::uint8_t race, gender, age;
    bool old;
};

class generator {
  public:
    generator(std::uint64_t world, std::uint64_t seed) : like_(make_distributions(world)), dice_(seed) {}

    /// The next encounter's cells, in the schema's order.
    const std::vector<std::string>& next() {
        const patient who = visitor();
        row_.clear();
        encounter_ += 6 + static_cast<std::int64_t>(dice_.index(4000));
        add(std::to_string(encounter_), std::to_string(10'000 + 17 * std::uint64_t{who.index}),
            like_.races[who.race].first, like_.genders[who.gender].first, like_.ages[who.age].first,
            dice_.pick(like_.weights));
        const auto discharge = admit(who);
        const double days = std::min(
            14.0, 1 + std::floor(dice_.exponential(like_.mean_days * std::exp(like_.days_by_severity * who.severity))));
        add(dice_.count(days, 1, 14));  // one draw per call: the order of arguments' evaluation is the compiler's
        add(dice_.pick(who.old ? like_.older_payers : like_.younger_payers));
        add(dice_.pick(like_.specialties));
        add(dice_.count(like_.laboratory + like_.laboratory_per_day * days + 17 * dice_.normal(), 1, 132));
        add(dice_.pick(like_.procedures));
        add(dice_.count(like_.medications + like_.medications_per_day * days + 1.5 * who.severity + 5 * dice_.normal(),
                        1, 81));
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
        const auto age = dice_.pick_index(like_.ages);
        const bool old = age >= 6;  // sixty and more
        const auto race = dice_.pick_index(like_.races);
        const auto gender = dice_.pick_index(like_.genders);
        patients_.push_back({dice_.normal() + (old ? .2 : -.3), static_cast<std::uint32_t>(patients_.size()),
                             static_cast<std::uint8_t>(race), static_cast<std::uint8_t>(gender),
                             static_cast<std::uint8_t>(age), old});
        return patients_.back();
    }

    /// Adds type, discharge and source; returns the discharge.
    std::string_view admit(const patient& who) {
        const auto type = dice_.pick(like_.admission_types);
        auto discharge = dice_.pick(like_.discharges);
        if (who.severity < -.5 && discharge != "18" && discharge != "25") discharge = "1";  // the healthier go home
        const auto source = dice_.pick(type == "1" || type == "2" ? like_.emergency_sources : like_.planned_sources);
        add(type, discharge, source);
        return discharge;
    }

    /// Adds the three visit counts; returns the number of inpatient visits.
    int visits(const patient& who) {
        const double factor = std::exp(like_.visits_by_severity * who.severity);
        int count = 0;
        for (const double chance : like_.visits) {
            count = dice_.happens(std::min(.95, chance * factor)) ? 1 + static_cast<int>(dice_.exponential(.9)) : 0;
            add(std::to_string(count));
        }
        return count;
    }

    /// Adds three different diagnoses and their number.
    void diagnose(const patient& who) {
        const auto first = dice_.pick(like_.first_diagnoses);
        auto second = dice_.pick(like_.other_diagnoses);
        auto third = dice_.pick(like_.other_diagnoses);
        while (second == first) second = dice_.pick(like_.other_diagnoses);
        while (third == first || third == second) third = dice_.pick(like_.other_diagnoses);
        if (dice_.happens(.012)) third = "?";
        if (third == "?" && dice_.happens(.25)) second = "?";
        const int named = 1 + (second != "?") + (third != "?");
        const auto all =
            third == "?" ? std::to_string(named)
                         : dice_.count(9.9 + .8 * who.severity - dice_.exponential(like_.missing_diagnoses), named, 9);
        add(first, second, third, all);
    }

    /// Adds laboratory results, drugs and whether they were changed; returns whether any drug was given.
    bool medicate(const patient& who) {
        const auto result = dice_.pick(like_.haemoglobin);
        add(dice_.pick(like_.glucose), result);
        int given = 0, moved = 0;
        const auto first = std::find(schema.begin(), schema.end(), "metformin");
        for (auto drug = first; *drug != "change"; ++drug) {
            const bool insulin = *drug == "insulin";
            const double rate =
                insulin ? like_.insulin + .05 * who.severity + (result == ">8" ? .2 : 0) : find_rate(*drug);
            const auto dose =
                dice_.happens(rate) ? dice_.pick(insulin ? like_.insulin_doses : like_.doses) : std::string_view("No");
            given += dose != "No";
            moved += dose == "Up" || dose == "Down";
            add(dose);
        }
        add(moved > 0 || (given > 1 && dice_.happens(.95)) ? "Ch" : "No");
        return given > 0;
    }

    double find_rate(std::string_view drug) const {
        for (const auto& [name, rate] : like_.drug_rates)
            if (drug == name) return rate;
        return drug == "examide" || drug == "citoglipton" ? 0 : 3e-4;
    }

    std::string_view readmission(const patient& who, std::string_view discharge, int stays) {
        if (discharge == "11" || discharge == "13" || discharge == "14") return "NO";  // died or went to a hospice
        const double logit = like_.readmission + like_.readmission_by_severity * who.severity +
                             like_.readmission_by_stay * std::min(stays, 6);
        if (!dice_.happens(1 / (1 + std::exp(-logit)))) return "NO";
        return dice_.happens(like_.soon + .04 * std::min(stays, 6)) ? "<30" : ">30";
    }

    distributions like_;
    dice dice_;
    std::int64_t encounter_ = 12'000;
    std::deque<patient> patients_;
    std::vector<std::string> row_;
};

}  // namespace

std::optional<synthetic_source> parse_synthetic(const std::string& path) {
    if (!is_synthetic(path)) return std::nullopt;
    const auto text = std::string_view(path).substr(synthetic_prefix.size());
    const auto at = std::min(text.find('@'), text.size());
    synthetic_source out;
    const auto whole = [](std::string_view digits, auto& number) {
        const auto* end = digits.data() + digits.size();
        const auto [stopped, status] = std::from_chars(digits.data(), end, number);
        return status == std::errc{} && stopped == end;
    };
    if (!whole(text.substr(0, at), out.encounters) || out.encounters < 1 ||
        out.encounters > limits::most_synthetic_records)
        refuse(fmt::format("data.path: {}: the number of encounters must be an integer from 1 to {}", path,
                           limits::most_synthetic_records));
    if (at < text.size() && (!whole(text.substr(at + 1), out.world) || out.world > limits::most_synthetic_worlds))
        refuse(fmt::format("data.path: {}: what follows the @ must be an integer from 0 to {}, the world's number",
                           path, limits::most_synthetic_worlds));
    return out;
}

struct synthetic_stream::state {
    synthetic_source from;
    std::uint64_t seed;
    std::int64_t made;
    generator make;
};

synthetic_stream::synthetic_stream(const synthetic_source& from, std::uint64_t seed)
    : state_(new state{from, seed, 0, generator(from.world, seed)}) {}
synthetic_stream::~synthetic_stream() = default;

std::optional<table> synthetic_stream::next(std::int64_t rows) {
    if (state_->made == state_->from.encounters) return std::nullopt;
    table out(fmt::format("{}{}", synthetic_prefix, state_->from.encounters), schema);
    for (const auto end = std::min(state_->from.encounters, state_->made + rows); state_->made < end; ++state_->made)
        out.add_row(state_->make.next(), static_cast<std::size_t>(state_->made) + 2);
    return out;
}

void synthetic_stream::rewind() {
    state_->made = 0;
    state_->make = generator(state_->from.world, state_->seed);
}

table synthetic_table(const synthetic_source& from, std::uint64_t seed) {
    return std::move(*synthetic_stream(from, seed).next(from.encounters));
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

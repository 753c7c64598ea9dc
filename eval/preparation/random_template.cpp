#include "eval/preparation/random_template.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace rldp::eval {

namespace {

constexpr std::int64_t fewest_columns = 5, most_columns = 14;
// Those whose values differ between people.
constexpr std::array columns = {"race",
                                "gender",
                                "age",
                                "time_in_hospital",
                                "payer_code",
                                "medical_specialty",
                                "num_lab_procedures",
                                "num_procedures",
                                "num_medications",
                                "number_outpatient",
                                "number_emergency",
                                "number_inpatient",
                                "diag_1",
                                "diag_2",
                                "diag_3",
                                "number_diagnoses",
                                "max_glu_serum",
                                "A1Cresult",
                                "metformin",
                                "glipizide",
                                "glyburide",
                                "insulin",
                                "change",
                                "diabetesMed",
                                "readmitted"};
constexpr std::array clauses = {"{label} is {value}.", "{label}: {value};",
                                "{value} {label},",    "the {label} was found to be {value}.",
                                "[{label}] {value}",   "for {label} we have {value}, so far."};
constexpr std::array<std::string_view, 2> letters = {"bdfgklmnprstvz", "aeiou"};

std::int64_t below(std::int64_t count, rl::splitmix& random) {
    return random.whole(0, count - 1);
}

std::string word(rl::splitmix& random) {
    std::string out;
    for (auto syllables = random.whole(1, 3); syllables > 0; --syllables)
        for (const auto& some : letters) out += some[static_cast<std::size_t>(below(std::ssize(some), random))];
    return out;
}

std::string words(std::int64_t fewest, std::int64_t most, rl::splitmix& random) {
    auto out = word(random);
    for (auto more = random.whole(fewest, most); more > 1; --more) out.append(" ").append(word(random));
    return out;
}

// Of few values, half of all columns' have other words; a word stands for one value of a column alone.
nlohmann::json renamed(std::string_view column, rl::splitmix& random) {
    std::vector<std::string_view> values;
    if (column == "gender") values = {"Male", "Female"};
    if (column == "readmitted") values = {"NO", ">30", "<30"};
    if (column == "change") values = {"No", "Ch"};
    if (column == "diabetesMed") values = {"Yes", "No"};
    for (const auto* drug : {"metformin", "glipizide", "glyburide", "insulin"})
        if (column == drug) values = {"Up", "Down", "Steady", "No"};
    nlohmann::json out = nlohmann::json::object();
    if (below(2, random) == 0) return out;
    for (const auto value : values) out[std::string(value)] = words(1, 2, random).append(std::to_string(out.size()));
    return out;
}

}  // namespace

std::string random_template(rl::splitmix& random) {
    std::vector<std::string> left(columns.begin(), columns.end());
    nlohmann::json named = nlohmann::json::object();
    for (auto count = random.whole(fewest_columns, most_columns); count > 0; --count) {
        const auto which = left.begin() + below(std::ssize(left), random);
        nlohmann::json& about = named[*which] = {{"label", words(1, 3, random)}};
        if (auto values = renamed(*which, random); !values.empty()) about["values"] = std::move(values);
        left.erase(which);
    }
    return nlohmann::json{{"record", "encounter_id"},
                          {"person", "patient_nbr"},
                          {"only_named", true},
                          {"opening", words(1, 8, random) + "."},
                          {"missing", {"?", "None", "NULL", ""}},
                          {"unknown", word(random)},
                          {"clause", clauses[static_cast<std::size_t>(below(std::ssize(clauses), random))]},
                          {"columns", named}}
        .dump(2);
}

}  // namespace rldp::eval

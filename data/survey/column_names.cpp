#include "data/survey/column_names.hpp"

#include <algorithm>
#include <cctype>
#include <initializer_list>

namespace rldp::data {

namespace {

bool has_one_of(std::string_view name, std::initializer_list<std::string_view> known) {
    const auto words = words_of_name(name);
    return std::any_of(words.begin(), words.end(),
                       [&](const auto& word) { return std::find(known.begin(), known.end(), word) != known.end(); });
}

}  // namespace

std::vector<std::string> words_of_name(std::string_view name) {
    std::vector<std::string> out;
    bool fresh = true, lower_before = false;
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        const bool letter = std::isalnum(byte) != 0 || byte >= 0x80;
        const bool upper = std::isupper(byte) != 0;  // of ASCII alone, as the locale is C
        if (letter && (fresh || (upper && lower_before))) out.emplace_back();
        if (letter) out.back() += static_cast<char>(std::tolower(byte));
        fresh = !letter;
        lower_before = std::islower(byte) != 0;
    }
    return out;
}

bool names_a_person(std::string_view name) {
    return has_one_of(name,
                      {"patient",  "person",    "customer", "client",       "user",    "member",     "subject",
                       "employee", "household", "insured",  "borrower",     "student", "guest",      "participant",
                       "donor",    "applicant", "citizen",  "policyholder", "account", "subscriber", "author"});
}

bool names_a_key(std::string_view name) {
    return name.empty() ||
           has_one_of(name, {"id", "uuid", "guid", "key", "nr", "nbr", "no", "index", "idx", "unnamed", "number"});
}

bool names_identity(std::string_view name) {
    return has_one_of(name, {"name",      "surname", "firstname", "lastname", "email",    "mail",    "phone",
                             "telephone", "mobile",  "fax",       "address",  "street",   "ssn",     "iban",
                             "passport",  "ip",      "url",       "login",    "username", "password"});
}

bool names_a_target(std::string_view name) {
    return has_one_of(name, {"target", "label", "class", "outcome", "readmitted", "churn", "churned", "default",
                             "response", "diagnosis", "approved", "fraud", "y"});
}

}  // namespace rldp::data

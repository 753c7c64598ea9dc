#pragma once
// What a column's name says of it. Names are public, values are not: whether a column stays out of a record's text, and
// what a first configuration proposes without being asked, follows from names alone.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rldp::data {

/// "patientNbr", "patient_nbr", "Patient Nbr": patient, nbr.
std::vector<std::string> words_of_name(std::string_view name);

enum class naming : std::uint8_t {
    nothing,   ///< what the name of a value, a code or a count says
    person,    ///< whose the record is: patient_id, MRN, Versichertennummer, case_owner
    thing,     ///< which record, order or device it is: encounter_id, row number
    identity,  ///< who somebody is: name, e-mail, date of birth
};

/// In English, German, French, Spanish, Italian, Portuguese, Dutch and Polish, with the usual affixes.
/// "admission_type_id" is a code, "number_diagnoses" a count.
naming classify_name(std::string_view name);

/// What tables call the thing to be predicted.
bool names_a_target(std::string_view name);
/// What tables call free text: "note", "description".
bool names_free_text(std::string_view name);

}  // namespace rldp::data

#pragma once
// What a column's name says of it.
#include <string>
#include <string_view>
#include <vector>

namespace rldp::data {

/// "patientNbr", "patient_nbr", "Patient Nbr": patient, nbr.
std::vector<std::string> words_of_name(std::string_view name);
/// Whether it is a person's, a customer's, an account's.
bool names_a_person(std::string_view name);
/// Whether it numbers something.
bool names_a_key(std::string_view name);
/// Names, addresses and the like: what tells who somebody is.
bool names_identity(std::string_view name);
/// What tables call the thing to be predicted.
bool names_a_target(std::string_view name);

}  // namespace rldp::data

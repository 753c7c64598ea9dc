#pragma once
// Which units of the data a cell trains on, and of which it shows held-out values.
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace rldp::eval {

/// The keys that decide on which side a unit of real data stands, and their values as JSON. Cells with equal ones train
/// on the same units and show the others'.
using data_split = std::map<std::string, std::string>;

/// Of a resolved configuration; nothing where its data are made up.
std::optional<data_split> find_split(const nlohmann::ordered_json& configuration);

/// The keys in which they differ, in alphabetical order.
std::vector<std::string> keys_that_differ(const std::vector<data_split>& splits);

}  // namespace rldp::eval

#include "eval/grid/cell_split.hpp"

#include <set>

#include "config/base/error.hpp"
#include "config/base/made_up.hpp"
#include "data/sources/narrative.hpp"
#include "eval/grid/grid.hpp"

namespace rldp::eval {
namespace {

// Every key of these sections counts, one that is added later too, but for those that only say how a record is told,
// cut or kept: it is placed by its row.
constexpr const char* sections[] = {"data", "audit"};
const std::set<std::string> harmless = {"data.max_tokens", "data.keep", "data.ids_mapping", "data.cache"};

/// Of a template the key column that it names for a record, which then takes the row's place, and that there is one.
std::string make_identity(const nlohmann::ordered_json& path) {
    if (!path.is_string()) return path.dump();
    try {
        const auto key = data::read_template(path.get<std::string>()).record;
        return key ? "records by " + *key : "records by row";
    } catch (const error&) {  // the cell itself says what is wrong with it
        return path.dump();
    }
}

}  // namespace

std::optional<data_split> find_split(const nlohmann::ordered_json& configuration) {
    if (is_synthetic(value_at(configuration, "data.path").get<std::string>())) return std::nullopt;
    data_split out = {{"privacy.unit", value_at(configuration, "privacy.unit").dump()}};
    for (const std::string section : sections) {
        const auto keys = value_at(configuration, section);
        for (const auto& [name, value] : keys.items())
            if (const auto key = section + "." + name; !harmless.contains(key))
                out[key] = key == "data.template" ? make_identity(value) : value.dump();
    }
    return out;
}

std::vector<std::string> keys_that_differ(const std::vector<data_split>& splits) {
    std::map<std::string, std::set<std::string>> values;
    for (const auto& one : splits)
        for (const auto& [key, ignored] : one)
            for (const auto& other : splits) values[key].insert(other.contains(key) ? other.at(key) : "");
    std::vector<std::string> out;
    for (const auto& [key, all] : values)
        if (all.size() > 1) out.push_back(key);
    return out;
}

}  // namespace rldp::eval

#include "base/json_reader.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/strict_json.hpp"

namespace rldp {

namespace {

constexpr std::size_t deepest_nesting = 32;  // levels; every file read here needs fewer than five

}  // namespace

nlohmann::json parse_object(std::string_view text, const std::string& origin) {
    if (const auto flaw = find_flaw(text, deepest_nesting)) switch (flaw->what) {
            case json_flaw::kind::depth:
                refuse(fmt::format("{}: nested deeper than {} levels", origin, deepest_nesting));
            case json_flaw::kind::repeated_key:
                refuse(fmt::format("{}: key '{}' appears twice", origin, flaw->key));
            case json_flaw::kind::number:
                refuse(fmt::format("{}: key '{}' holds a number that no double holds", origin, flaw->key));
            case json_flaw::kind::syntax:
                refuse(fmt::format("{}: not valid JSON at byte {}", origin, flaw->byte));
        }
    auto parsed = nlohmann::json::parse(text);
    if (!parsed.is_object()) refuse(origin + ": a JSON object is needed");
    return parsed;
}

nlohmann::json read_object(const std::filesystem::path& path) {
    return parse_object(read_file(path), path.string());
}

bool json_reader::has(const std::string& key) const {
    const auto found = object_.find(key);
    return found != object_.end() && !found->is_null();
}

const nlohmann::json& json_reader::at(const std::string& key) const {
    if (!has(key)) refuse(fmt::format("{}: key '{}' is missing", origin_, key));
    return object_.at(key);
}

std::int64_t json_reader::integer(const std::string& key, std::int64_t low, std::int64_t high) const {
    const nlohmann::json& value = at(key);
    // Larger unsigned numbers would wrap in get<int64>.
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() || value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX});
    if (!fits || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high)
        refuse(fmt::format("{}: key '{}' must be an integer from {} to {}", origin_, key, low, high));
    return value.get<std::int64_t>();
}

std::int64_t json_reader::integer(const std::string& key, std::int64_t low, std::int64_t high,
                                  std::int64_t missing) const {
    return has(key) ? integer(key, low, high) : missing;
}

double json_reader::number(const std::string& key, double low, double high) const {
    const nlohmann::json& value = at(key);
    const double number = value.is_number() ? value.get<double>() : NAN;
    if (!(number >= low && number <= high))
        refuse(fmt::format("{}: key '{}' must be a number from {} to {}", origin_, key, low, high));
    return number;
}

double json_reader::number(const std::string& key, double low, double high, double missing) const {
    return has(key) ? number(key, low, high) : missing;
}

bool json_reader::boolean(const std::string& key, bool missing) const {
    if (!has(key)) return missing;
    if (!object_.at(key).is_boolean()) refuse(fmt::format("{}: key '{}' must be true or false", origin_, key));
    return object_.at(key).get<bool>();
}

std::string json_reader::text(const std::string& key) const {
    if (!at(key).is_string()) refuse(fmt::format("{}: key '{}' must be a string", origin_, key));
    return at(key).get<std::string>();
}

std::string json_reader::text(const std::string& key, const std::string& missing) const {
    return has(key) ? text(key) : missing;
}

}  // namespace rldp

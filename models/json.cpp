#include "models/json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <vector>

#include "config/error.hpp"
#include "config/files.hpp"

namespace rldp::models {

namespace {

constexpr int deepest = 32;  // levels; every file read here needs fewer than five

// Sees every key as it is parsed: nlohmann's parser would silently keep the last of two equal ones.
class strictness {
  public:
    explicit strictness(const std::string& origin) : origin_(origin) {}

    bool operator()(int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
        using kind = nlohmann::json::parse_event_t;
        if (depth > deepest) refuse(fmt::format("{}: nested deeper than {} levels", origin_, deepest));
        if (event == kind::object_start) keys_.emplace_back();
        if (event == kind::object_end) keys_.pop_back();
        if (event == kind::key) {
            last_key_ = parsed.get<std::string>();
            if (!keys_.back().insert(last_key_).second)
                refuse(fmt::format("{}: key '{}' appears twice", origin_, last_key_));
        }
        return true;
    }
    const std::string& last_key() const { return last_key_; }

  private:
    const std::string& origin_;
    std::string last_key_;
    std::vector<std::set<std::string>> keys_;
};

}  // namespace

nlohmann::json parse_object(std::string_view text, const std::string& origin) {
    strictness strict(origin);
    try {
        nlohmann::json parsed =
            nlohmann::json::parse(text, [&strict](int depth, nlohmann::json::parse_event_t event,
                                                  nlohmann::json& value) { return strict(depth, event, value); });
        if (!parsed.is_object()) refuse(origin + ": a JSON object is needed");
        return parsed;
    } catch (const nlohmann::json::parse_error& e) {
        refuse(fmt::format("{}: not valid JSON at byte {}", origin, e.byte));
    } catch (const nlohmann::json::out_of_range&) {
        refuse(fmt::format("{}: key '{}' holds a number that no double holds", origin, strict.last_key()));
    }
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

}  // namespace rldp::models

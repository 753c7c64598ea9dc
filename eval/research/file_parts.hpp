#pragma once
// Parts of a JSON file that says what a grid of runs is to be; every refusal names the file and the path of keys.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/json_reader.hpp"
#include "config/schema.hpp"
#include "eval/experiments/grid.hpp"

namespace rldp::eval {

/// Whether a part is a Value: a string, a finite number, an integer, a list of one of these, or anything (json).
template <class Value>
bool is_a(const nlohmann::ordered_json& value) {
    if constexpr (std::is_same_v<Value, std::string>)
        return value.is_string();
    else if constexpr (std::is_same_v<Value, double>)
        return value.is_number() && std::isfinite(value.get<double>());
    else if constexpr (std::is_same_v<Value, std::int64_t>)
        return value.is_number_integer() &&
               (!value.is_number_unsigned() || value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX});
    else if constexpr (std::is_same_v<Value, nlohmann::ordered_json>)
        return true;
    else
        return value.is_array() && std::all_of(value.begin(), value.end(), is_a<typename Value::value_type>);
}

template <class Value>
bool names_one_twice(const std::vector<Value>& values) {
    return std::set<Value>(values.begin(), values.end()).size() != values.size();
}

/// Keys that all arms of a comparison share, or it would not be methods that are compared: data, contract, model,
/// evaluation. A name that ends in a dot or an underscore stands for all that begin so.
inline bool is_shared(std::string_view key) {
    constexpr std::array all = {"seed",     "device", "data.",    "eval.",       "audit.",
                                "privacy.", "model.", "monitor.", "train.eval_", "noise.insecure_reproducible"};
    return std::any_of(all.begin(), all.end(), [&](std::string_view one) {
        const bool prefix = one.back() == '.' || one.back() == '_';
        return prefix ? key.starts_with(one) : key == one;
    });
}

/// Reads parts of the file, each by its path of keys.
class file_parts {
  public:
    using json = nlohmann::ordered_json;  // in the file's order

    explicit file_parts(const std::filesystem::path& file) : file_(file) {
        const auto text = read_text(file);
        parse_object(text, file.string());  // refuses what is not strictly JSON
        whole_ = json::parse(text);
    }

    const json& whole() const { return whole_; }
    std::filesystem::path folder() const { return std::filesystem::absolute(file_).parent_path(); }
    [[noreturn]] void refuse_at(const std::string& key, const std::string& what) const {
        refuse(fmt::format("{}: {}: {}", file_.string(), key, what));
    }

    void allow_only(const json& object, const std::string& where, const std::set<std::string>& known) const {
        if (!object.is_object()) refuse_at(where, "must be an object");
        for (const auto& [key, value] : object.items())
            if (!known.contains(key)) refuse_at(join_path(where, key), "is unknown here");
    }

    template <class Value>
    Value get(const json& object, const std::string& where, const std::string& key) const {
        if (!object.contains(key)) refuse_at(join_path(where, key), "is missing");
        if (!is_a<Value>(object.at(key))) refuse_at(join_path(where, key), "is of the wrong type");
        return object.at(key).get<Value>();
    }
    template <class Value>
    Value get(const json& object, const std::string& where, const std::string& key, const Value& missing) const {
        return object.contains(key) ? get<Value>(object, where, key) : missing;
    }

    template <class Value>
    std::vector<Value> distinct(const json& object, const std::string& where, const std::string& key) const {
        auto values = get<std::vector<Value>>(object, where, key);
        if (values.empty()) refuse_at(join_path(where, key), "is empty");
        if (names_one_twice(values)) refuse_at(join_path(where, key), "names one twice");
        return values;
    }

    /// {"dotted.key": value} as overrides.
    std::vector<std::string> overrides(const json& object, const std::string& where) const {
        std::vector<std::string> out;
        if (!object.is_object()) refuse_at(where, "must be an object of configuration keys");
        for (const auto& [key, value] : object.items()) out.push_back(key + "=" + valid(key, value, where));
        return out;
    }

    /// The value as the configuration would take it from a file that lies here, as JSON.
    std::string valid(const std::string& key, const json& value, const std::string& where) const {
        const auto* known = config::find_key(key);
        if (known == nullptr)
            refuse_at(where, fmt::format("{} is no key of a configuration; {}", key, config::did_you_mean(key)));
        const auto taken = config::rewrite(*known, value, folder());
        if (!taken) refuse_at(where, fmt::format("{} is {}; give {}", key, value.dump(), known->expectation));
        return taken->dump();
    }

    /// A name that directories can have.
    void expect_name(const std::string& name, const std::string& where) const {
        if (name.empty() || as_file_name(name) != name) refuse_at(where, "is no name of letters, digits, . _ + -");
    }

    /// [values], each as valid() takes it, of a key that `where` lists.
    axis values_of(const std::string& key, const json& values, const std::string& where) const {
        if (!values.is_array() || values.empty()) refuse_at(join_path(where, key), "must be a list of values");
        axis out{key, {}};
        for (const auto& value : values) out.values.push_back(valid(key, value, where));
        return out;
    }
    /// {"dotted.key": [values]}, none twice, of keys in which arms may differ.
    std::vector<axis> axes(const json& object, const std::string& where) const {
        std::vector<axis> out;
        if (!object.is_object()) refuse_at(where, "must be an object of configuration keys");
        for (const auto& [key, values] : object.items()) {
            out.push_back(values_of(key, values, where));
            refuse_shared(key, where);
            if (names_one_twice(out.back().values)) refuse_at(join_path(where, key), "names one twice");
        }
        return out;
    }
    void refuse_shared(const std::string& key, const std::string& where) const {
        if (is_shared(key)) refuse_at(where, key + " is the same for all arms; it belongs into the base");
    }
    /// What an arm sets.
    std::vector<std::string> arm_overrides(const json& object, const std::string& where) const {
        auto out = overrides(object, where);
        for (const auto& [key, value] : object.items()) refuse_shared(key, where);
        return out;
    }

  private:
    static std::string join_path(const std::string& where, const std::string& key) {
        return where.empty() ? key : where + "." + key;
    }

    std::filesystem::path file_;
    json whole_;
};

}  // namespace rldp::eval

#pragma once
// The one place where a key of the configuration is written down. Reading, defaults, errors, the reference and the
// resolved configuration all follow from this table.
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/values.hpp"

namespace rldp::config {

/// Steps of the longest run: what the accountants are made for.
inline constexpr double most_steps = 1e7;

struct key {
    std::string path;         ///< dotted: "noise.deck.levels"
    std::string unit;         ///< "steps", "units", …; empty where the value has none
    std::string expectation;  ///< type and range in words
    json type;                ///< the same as a JSON Schema
    std::string sentence;
    std::string absent;  ///< what holds where the value is null; empty where it can't be
    /// Sets the member; false where the value is of another type or out of range.
    std::function<bool(const json&, const std::filesystem::path& base, run_config&)> read;
    std::function<json(const run_config&)> write;
    bool place = false;    ///< a path, which may differ from machine to machine
    bool tunable = false;  ///< the runs of a tuning may differ in it: it changes neither their price nor their records
};

/// Every key, section by section, in the order of the reference.
const std::vector<key>& schema();

/// `value` as the key writes it again, relative paths in it beginning at `base`; nothing where it takes no such value.
std::optional<json> rewrite(const key& known, const json& value, const std::filesystem::path& base);

/// The key of that path, or null.
const key* find_key(const std::string& path);
/// Whether keys lie below `path` ("noise", "noise.deck").
bool is_section(const std::string& path);
/// The key or section whose path, or whose last name, is nearest to `path` by edit distance.
std::string nearest(const std::string& path);
/// "did you mean …?", or where the keys are listed if none is near.
std::string did_you_mean(const std::string& path);

}  // namespace rldp::config

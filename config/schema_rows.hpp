#pragma once
// Internal: what the rows of the schema are written with, and the files that they stand in.
#include <string>
#include <utility>
#include <vector>

#include "config/schema.hpp"

namespace rldp::config::rows {

inline constexpr double most_units = 1e12;   // units or records: no table is larger
inline constexpr double most_width = 65536;  // batches, records of a unit

// Values. Ranges and forms that several keys have.

inline interval open(interval range) {
    range.least_open = range.most_open = true;
    return range;
}

inline interval half_open(double least, double most) {
    return {.least = least, .most = most, .most_open = true};
}
inline interval above_to(double least, double most) {
    return {.least = least, .most = most, .least_open = true};
}

inline bool is_name(const std::string& text) {
    return !text.empty() && text.find_first_of(" \t\r\n\"") == std::string::npos;
}

// Sections.

/// Collects the keys of one section; `Get` maps the configuration to the section, const or not.
template <class Get>
class section {
  public:
    section(std::vector<key>& keys, std::string prefix, Get get) : keys_(keys), prefix_(std::move(prefix)), get_(get) {}

    template <class Section, class Value>
    section& add(const char* name, Value Section::*member, domain allowed, const char* unit, const char* sentence,
                 const std::string& absent = "") {
        keys_.push_back({prefix_ + name, unit, expectation(allowed, Value{}), json_schema(allowed, Value{}), sentence,
                         absent,
                         [get = get_, member, allowed](const json& value, const auto& base, run_config& into) {
                             return assign(value, allowed, base, get(into).*member);
                         },
                         [get = get_, member](const run_config& from) { return written(get(from).*member); },
                         std::holds_alternative<location>(allowed)});
        return *this;
    }
    /// Of the key that was added last.
    section& tunable() {
        keys_.back().tunable = true;
        return *this;
    }

  private:
    std::vector<key>& keys_;
    std::string prefix_;
    Get get_;
};

/// Of what a run reads, who steers, attacks and watches it, in that order: data, model, lora, eval; rl, audit, monitor,
/// cluster, run, and the keys outside of sections.
void add_inputs(std::vector<key>& keys);
void add_company(std::vector<key>& keys);

}  // namespace rldp::config::rows

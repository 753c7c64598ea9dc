#pragma once
// Made-up tables, written as CSV, JSONL or text, whose units' sides are known.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "data/units/split_and_sampling.hpp"

namespace rldp::testing {

using generator = std::mt19937_64;

inline std::uint64_t below(generator& random, std::uint64_t bound) {
    return random() % bound;
}

template <class Choices>
const auto& one_of(const Choices& choices, generator& random) {
    return choices[below(random, std::size(choices))];
}

struct row {
    std::string id, patient, text;
};
using unit = std::vector<row>;

struct table {
    std::vector<unit> train, held_out;  ///< held_out: on the Eval and Attack sides
};

/// How a table is written, and what a unit of it is.
struct layout {
    std::string_view extension = "csv";  ///< csv, jsonl or txt
    bool grouped = false;                ///< units are patients; not in text, which has no keys
    std::string file(const std::string& stem) const { return stem + "." + std::string(extension); }
};

/// The template of the CSV tables: a row's prose is its text, as it is in the other formats.
inline constexpr const char* plain_template =
    R"({"record": "id", "person": "patient", "missing": ["?"], "clause": "{value}", "columns": {"text": {}}})";

void write_table(const std::filesystem::path& file, const table& of, const layout& how);

/// `count` words that look like words.
std::string words(generator& random, std::size_t count);

/// Makes units and asks the loader where they go, in a folder of its own.
class table_maker {
  public:
    table_maker(std::filesystem::path folder, layout how, std::uint64_t seed);

    /// So many training units of a few words, and at least three Eval units.
    table base(std::size_t training_units);
    /// A unit of a few words on that side.
    unit unit_on(data::side where);
    /// A unit of such records on that side, or none where two hundred tries end on others. A unit known by its text
    /// alone is tried with as many variants of it, so `text` is asked for each.
    template <class Text>
    std::vector<unit> unit_on(data::side where, Text text, std::size_t records = 1) {
        for (std::size_t i = 0; i < 200; ++i) {
            auto made = identified(records);
            for (auto& r : made) r.text = text(i);
            if (lies_on(where, made)) return {made};
        }
        return {};
    }

    generator& random() { return random_; }
    const layout& how() const { return how_; }

  private:
    unit identified(std::size_t records);
    unit any_unit();
    bool lies_on(data::side where, const unit& one);
    std::size_t eval_units(const table& of);

    std::filesystem::path folder_;
    layout how_;
    generator random_;
    std::uint64_t count_ = 0;
    std::optional<unit> trained_;  ///< one that lies on the training side
};

}  // namespace rldp::testing

#pragma once
// Made-up tables, written as CSV, JSONL or text, whose units' sides are known.
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

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
    std::vector<unit> train, others;  ///< others: on the Eval and Attack sides
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
    /// A training unit of a few words.
    unit training_unit();
    /// A training unit of such records, or none where fifty tries end on other sides. A unit known by its text alone
    /// is tried with up to fifty variants of it, so `text` is asked for each.
    template <class Text>
    std::vector<unit> training_unit(Text text, std::size_t records = 1) {
        for (std::size_t i = 0; i < 50; ++i) {
            auto made = identified(records);
            for (auto& r : made) r.text = text(i);
            if (trains(made)) return {made};
        }
        return {};
    }

    generator& random() { return random_; }
    const layout& how() const { return how_; }

  private:
    unit identified(std::size_t records);
    unit any_unit();
    bool trains(const unit& one);
    std::size_t eval_units(const table& of);

    std::filesystem::path folder_;
    layout how_;
    generator random_;
    std::uint64_t count_ = 0;
};

}  // namespace rldp::testing

#pragma once
// Runs as a budget book meets them.
#include <filesystem>
#include <string>
#include <vector>

#include "privacy/spending/book.hpp"

namespace rldp::privacy::testing {

/// A run of 100 steps at z = 1.1 and q = 0.01, which promises 0.9 (more than it composes to).
inline ledger_content run(const std::string& id, double epsilon = 0.9) {
    ledger_content out;
    out.header.delta = 1e-5;
    out.header.sample_rate = 0.01;
    out.header.population = 1000;
    out.header.steps = 100;
    out.header.policy = "fixed";
    out.header.accountant = "pld";
    out.header.unit = "record";
    out.header.epsilon_budget = out.header.epsilon_guaranteed = epsilon;
    out.header_hash = id;
    return out;
}

inline const std::vector<phase> steps = {{1.1, 0.01, 100}};

/// How a run is entered, beside its ledger.
struct manner {
    std::vector<phase> promised = steps;
    std::string data = "the table", split = "one split";
    rldp::publication held_out = rldp::publication::noised;
    rldp::unit_sketches sketches = {};
    std::string directory = {};  ///< beside the book, of the run's id where nothing else is said
};

inline std::filesystem::path mark_in(const std::filesystem::path& book, const std::string& directory) {
    return book.parent_path() / "runs" / directory / "book.json";
}

inline start_kind enter(const std::filesystem::path& book, ledger_content of, const manner& how = {}) {
    of.header.held_out = how.held_out;
    const auto directory = how.directory.empty() ? of.header_hash : how.directory;
    const auto mark = mark_in(book, directory);
    std::filesystem::create_directories(mark.parent_path());
    return enter_run(book, {.ledger = of,
                            .phases = how.promised,
                            .data_digest = how.data,
                            .split = how.split,
                            .place = "/runs/" + directory,
                            .mark = mark,
                            .sketches = how.sketches});
}

/// As cp -r does.
inline void copy_run(const std::filesystem::path& book, const std::string& from, const std::string& to) {
    std::filesystem::remove_all(mark_in(book, to).parent_path());
    std::filesystem::copy(mark_in(book, from).parent_path(), mark_in(book, to).parent_path(),
                          std::filesystem::copy_options::recursive);
}

inline ledger_content run_by(const std::string& unit, const std::string& id, double epsilon = 0.9) {
    auto out = run(id, epsilon);
    out.header.unit = unit;
    return out;
}

}  // namespace rldp::privacy::testing

#pragma once
// A budget book: what the runs on one data set have spent of its owner's budget together. A directory of the owner's,
// mode 0700: book.jsonl, a line for every run that begins and every total that is set, and book.key, under which the
// lines name data. Nothing of it is public.
//
// A run takes what it promises, also where it ends early: when that is may depend on what it released.
// The runs of a book that protect the same kind of unit under the same split add up whether or not they share records,
// which is the safe side. Under another split, who was held out of one run, and is outside its contract, may have been
// in training in the other: such runs have no sum (docs/privacy.md §7). Two sums are given. Adding up ε and δ holds
// however a run's settings depend on what earlier runs released (Rogers, Roth, Ullman, Vadhan 2016, theorem 3.6: basic
// composition is a filter). Composing the privacy loss distributions of all steps is tighter, and holds where the
// settings did not depend on that.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "privacy/accounting/accountant.hpp"
#include "privacy/spending/ledger.hpp"

namespace rldp::privacy {

/// What a run takes from the budget of its data.
struct book_entry {
    std::string run;    ///< hash of its ledger's header
    std::string place;  ///< its directory
    std::string began;  ///< UTC, as 2026-01-31T12:00:00Z
    std::string data;   ///< of its training records, under the book's key
    std::string unit;
    std::string split;              ///< rule and seed, as "hash 42"
    std::optional<double> epsilon;  ///< guaranteed; absent: NO GUARANTEE, so there is none for the book either
    double delta = 0, padding_delta = 0;
    std::vector<phase> phases;  ///< that it may charge; empty: chosen as it goes, so that only its ε is known (filter)
};

enum class composition : std::uint8_t { basic, pld };

/// What the owner allows all runs of a book together. They must have one split.
struct book_total {
    double epsilon = 0, delta = 0;
    std::string unit;
    composition by = composition::basic;
};

struct budget_book {
    std::vector<book_entry> runs;  ///< in the order in which they began
    std::optional<book_total> total;
};

/// Of all runs of one unit and split.
struct book_sum {
    std::string unit, split;
    double delta = 0;               ///< the sum of theirs
    std::optional<double> epsilon;  ///< the sum of theirs; absent where one of them guarantees nothing
    std::optional<double> pld;      ///< at the same δ
    std::size_t runs = 0;
};

/// Errors: bad_input where there is none or a line is damaged. A last line without its end counts for nothing: its run
/// had charged nothing yet.
budget_book read_book(const std::filesystem::path& directory);

/// A sum for each unit and split.
std::vector<book_sum> sums_of(const budget_book& book);

/// What a book needs to know of a run that begins.
struct book_claim {
    const ledger_content& ledger;
    std::vector<phase> phases;  ///< as book_entry's
    std::string data_digest;
    std::string split;  ///< as book_entry's
    std::filesystem::path place;
};

/// Enters a run before its first charge, and makes the book where there is none. A run that is there already stays as
/// it is. Errors: bad_input where the total would be exceeded.
void enter_run(const std::filesystem::path& directory, const book_claim& run);

/// Errors: bad_input where the runs so far exceed it.
void set_total(const std::filesystem::path& directory, const book_total& total);

}  // namespace rldp::privacy

#pragma once
// A budget book: what the runs on one population have spent of its owner's budget together. A directory of the owner's,
// mode 0700: book.jsonl, a line for every start of a run and every total that is set; book.sketch, by which the
// population is known again; and book.key, under which both name data. Nothing of it is public.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/kinds.hpp"
#include "base/unit_sketch.hpp"
#include "privacy/accounting/accountant.hpp"
#include "privacy/spending/ledger.hpp"

namespace rldp::privacy {

// Sums. A run takes what it promises, also where it ends early: when that is may depend on what it released. Runs add
// up whether or not they share records, which is the safe side. Two sums are given. Adding up ε and δ holds however a
// run's settings depend on what earlier runs released (Rogers, Roth, Ullman, Vadhan 2016, theorem 3.6: basic
// composition is a filter). Composing the privacy loss distributions of all steps is tighter, and holds where the
// settings did not depend on that.
//
// Where every run protects its held-out units too, or says nothing of them, (ε, δ) adds up whatever the splits are. A
// run that published raw figures of held-out units leaves those out of its contract, and under another split they may
// be in training: it adds up with runs of the same split alone. So do privacy loss distributions, for a unit's side
// decides which of a run's it meets (docs/privacy.md §7). Counts over all units meet each on any side: they add up with
// every split, and compose with one.

/// What a run takes from the budget of its data, or counts over all its units.
struct book_entry {
    std::string run;      ///< hash of its ledger's header; of a copy that goes on by itself, with more behind it
    std::string nonce;    ///< of its last start; empty: no version that knew nonces started it
    std::string copy_of;  ///< the place of the run that it was a copy of; mostly empty
    std::string place;    ///< its directory, when it last started
    std::string began;    ///< UTC, as 2026-01-31T12:00:00Z
    std::string data;     ///< of its training records, under the book's key; of counts empty
    std::string unit;     ///< "record", or a column
    std::string split;    ///< of all units on their sides, under the book's key; of earlier versions "hash 42"; of
                          ///< counts over all units (counts_charge.hpp) empty: they add up with any
    publication held_out = publication::raw;   ///< what it says of held-out units
    std::optional<double> epsilon_guaranteed;  ///< absent: NO GUARANTEE, and so none for the book either
    double delta = 0, padding_delta = 0;
    std::vector<phase> phases;  ///< that it may charge; empty: chosen as it goes, so that only its ε is known (filter)
    look_plan looks = {};       ///< at its held-out units; none but of "private"
};

/// How runs come to a total: added up, or as one privacy loss distribution.
enum class composition_rule : std::uint8_t { basic, pld };

}  // namespace rldp::privacy

template <>
struct rldp::names<rldp::privacy::composition_rule> {
    static constexpr const char* what = "composition";
    static constexpr named_value<privacy::composition_rule> rows[] = {{privacy::composition_rule::basic, "basic"},
                                                                      {privacy::composition_rule::pld, "pld"}};
};

namespace rldp::privacy {

/// What the owner allows all runs of a book together that protect `unit`.
struct book_total {
    double epsilon_budget = 0, delta = 0;
    std::string unit;
    composition_rule by = composition_rule::basic;
    /// Of a column's: the most records that anybody has. Runs by record then count too, at their price for a group of
    /// so many.
    std::optional<std::int64_t> records_per_unit = {};
};

struct budget_book {
    std::vector<book_entry> runs;    ///< in the order in which they began
    std::vector<book_total> totals;  ///< one for a unit
};

/// Of all runs of one unit, and where one of them published raw figures, of one split.
struct book_sum {
    std::string unit, split;                   ///< split: empty unless there is one
    double delta = 0;                          ///< the sum of theirs
    std::optional<double> epsilon_guaranteed;  ///< the sum of theirs; absent where one of them guarantees nothing
    std::optional<double> pld;                 ///< at the same δ
    std::size_t runs = 0;
    bool of_all = false;  ///< counts over all units alone
};

/// Errors: bad_input where there is none or a line is damaged. A last line without its end counts for nothing: its run
/// had charged nothing yet.
budget_book read_book(const std::filesystem::path& directory);

std::vector<book_sum> compute_sums(const budget_book& book);

/// What a group of `size` is promised where each of its members is promised (ε, δ): (size·ε, δ·(e^(size·ε) − 1)/(e^ε −
/// 1)) (Dwork, Roth 2014, theorem 2.2; Vadhan 2017, lemma 2.2).
struct group_price {
    double epsilon = 0, delta = 0;
};
group_price price_for_group(double epsilon, double delta, std::int64_t size);

/// What a book needs to know of a run that starts.
struct book_claim {
    const ledger_content& ledger;
    std::vector<phase> phases;  ///< as book_entry's
    std::string data_digest;
    std::string split;  ///< digest of all units on their sides
    std::filesystem::path place;
    std::filesystem::path mark;   ///< the run's book_mark (book_files.hpp)
    unit_sketches sketches = {};  ///< of the table
};

enum class start_kind : std::uint8_t { first, again, copy };

/// Enters a run's start before its first charge, and makes the book where there is none. A run that is there already
/// goes on, unless it was started from another directory since this one knew of it: then this one is a copy, or was
/// brought back from one, and takes its whole promise once more. Errors: bad_input where a total would be exceeded or
/// the book can't be written; nothing is entered then.
start_kind enter_run(const std::filesystem::path& directory, const book_claim& run);

/// Whether a run that is not in the book may be entered. Errors: bad_input, in enter_run's words, where a total would
/// be exceeded.
void check_room(const std::filesystem::path& directory, const book_claim& run);

/// Of its unit, in place of the one before. Errors: bad_input where the runs so far exceed it.
void set_total(const std::filesystem::path& directory, const book_total& total);

namespace detail {

/// Why its owner does not allow a book that `last` is in, or nothing.
std::optional<std::string> excess(const budget_book& book, const book_entry& last);
/// Why its runs exceed a total, or nothing.
std::optional<std::string> excess(const budget_book& book, const book_total& most);

}  // namespace detail

}  // namespace rldp::privacy

namespace rldp::privacy::detail {

// Lines. Those of a budget book: JSON objects of known keys, one of a run, of its start again, or of a total.

/// A start of a run that is in the book.
struct book_start {
    std::string run, nonce, place, began;
};

/// With its end.
std::string to_line(const book_entry& run);
std::string to_line(const book_start& start);
std::string to_line(const book_total& total);

/// Takes a line, without its end, into the book. Errors: bad_input naming `origin`, for a number out of range, too.
void add(budget_book& book, std::string_view line, const std::string& origin);

/// In place of the total for its unit.
void set(budget_book& book, const book_total& total);

/// The same of a total that somebody gives, in words that begin with `origin`.
void check(const book_total& total, const std::string& origin);

}  // namespace rldp::privacy::detail

#pragma once
// The lines of a budget book: JSON objects of known keys, one of a run, of its start again, or of a total.
#include <string>
#include <string_view>

#include "privacy/spending/book.hpp"

namespace rldp::privacy::detail {

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

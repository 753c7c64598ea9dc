#pragma once
// The lines of a budget book: JSON objects of known keys, one of a run or of a total.
#include <string>
#include <string_view>

#include "privacy/spending/book.hpp"

namespace rldp::privacy::detail {

/// With its end.
std::string to_line(const book_entry& run);
std::string to_line(const book_total& total);

/// Takes a line, without its end, into the book. Errors: bad_input naming `origin`, for a number out of range, too.
void add(budget_book& book, std::string_view line, const std::string& origin);

/// The same of a total that somebody gives, in words that begin with `origin`.
void check(const book_total& total, const std::string& origin);

}  // namespace rldp::privacy::detail

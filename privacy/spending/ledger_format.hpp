#pragma once
// The text of a ledger's lines: canonical JSON (sorted keys, no spaces, shortest numbers that read back exactly,
// infinities as strings), each with the SHA-256 of itself without `hash`.
#include <string>
#include <string_view>

#include "privacy/spending/ledger.hpp"

namespace rldp::privacy::detail {

struct header_line {
    ledger_header header;
    std::string hash;
};

std::string format(const ledger_header& header, std::string& hash);  ///< without the newline; sets `hash`
std::string format(ledger_line& line);                               ///< sets line.hash
std::string format(look_line& line);

/// Reads exactly what format() writes; anything else, also in another order or spelling, throws std::runtime_error that
/// says what is wrong with the line.
header_line parse_header(std::string_view text);
ledger_line parse_line(std::string_view text);
look_line parse_look(std::string_view text);
/// Whether a line is a look's, and no step's.
bool is_look(std::string_view text);

/// Throws std::runtime_error for a number out of range.
void validate(const ledger_header& header);
/// The line must be the next one after `before`: seq, chain, step order, the plan's rate and length, and the deck.
void validate(const ledger_line& next, const ledger_content& before);
/// The same of a look: number, chain, step, and the header's noise.
void validate(const look_line& next, const ledger_content& before);

}  // namespace rldp::privacy::detail

#pragma once
// What Python does with text, on UTF-8: a character is a code point, and white space is what Unicode calls so.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rldp::data::jinja {

bool is_ascii(std::string_view text);

/// The code point at the head of `text`, which is not empty; of bytes that are not UTF-8, one.
std::string_view first_character(std::string_view text);
/// The same at its end.
std::string_view last_character(std::string_view text);
/// How many there are.
std::size_t count_characters(std::string_view text);
bool is_space(std::string_view character);

/// Which ends of a text.
enum class ends { left, right, both };
/// Without white space at its ends, or without `characters`.
std::string_view stripped(std::string_view text, ends which = ends::both,
                          const std::optional<std::string_view>& characters = std::nullopt);

/// The parts between separators, at most `most` cuts from the left; below 0, all. The separator is not empty.
std::vector<std::string_view> split_at(std::string_view text, std::string_view separator, std::int64_t most);
/// The parts between white space.
std::vector<std::string_view> split_words(std::string_view text, std::int64_t most);

/// str.upper() and its kin. Errors: fault beyond ASCII, for which there is no table here.
std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalized(std::string_view text);
/// A capital where a letter follows none.
std::string title_of_method(std::string_view text);
/// A capital at the head of words, as Jinja's filter counts them.
std::string title_of_filter(std::string_view text);

/// float's repr(): the shortest that reads back, with ".0" where it looks whole.
std::string written(double number);

}  // namespace rldp::data::jinja

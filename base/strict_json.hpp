#pragma once
// JSON that may be hostile: the flaws of a text, and whole numbers in it.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace rldp {

// Flaws. What a JSON text from a stranger may not do, found before any of it is used; in time n log n of its length.

/// The first thing that is wrong with a text.
struct json_flaw {
    enum class kind {
        syntax,        ///< also anything but space behind the document: nlohmann's parser takes a zero byte for the end
        number,        ///< beyond what a double holds
        repeated_key,  ///< of which a parser would silently keep the last
        depth,
    };
    kind what;
    std::size_t byte;    ///< where the parser stopped, from 1
    std::string path;    ///< of the last key, "a.b"
    std::string key;     ///< the last key
    std::string reason;  ///< of syntax and number: the parser's own words
};

/// Reads `text` as one JSON value, objects and lists nested at most `deepest` in one another. Nothing where all is
/// well.
std::optional<json_flaw> find_flaw(std::string_view text,
                                   std::size_t deepest = std::numeric_limits<std::size_t>::max());

/// "line 3, column 7: not JSON: …", or which key is wrong, on one printable line, of the text that it was found in.
std::string describe_flaw(const json_flaw& flaw, std::string_view text);

// Whole numbers. They stand in JSON that may be hostile.

/// get() alone would turn 1e300 into whatever the processor makes of it, and 2.5 into 2. Errors: as refuse_unless.
template <class Number = std::int64_t, class Json>
Number to_integer(const Json& value) {
    refuse_unless(value.is_number_integer(), value.dump() + " is no whole number");
    return value.template get<Number>();
}

}  // namespace rldp

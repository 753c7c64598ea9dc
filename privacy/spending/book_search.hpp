#pragma once
// Which budget book a run's data have, and by what a book knows them again.
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/unit_sketch.hpp"
#include "privacy/keys/random.hpp"

namespace rldp::privacy {

// Sketches. By what a budget book knows its population again: samples of unit identities (base/unit_sketch.hpp), hashed
// once more under the book's key. Without that key they answer no question about anybody.

struct keyed_sketch {
    unsigned level = 0;
    std::map<std::uint64_t, unsigned> units;  ///< keyed hash → leading zeros of the hash that was sampled
    bool operator==(const keyed_sketch&) const = default;
};
using keyed_sketches = std::map<std::string, keyed_sketch>;

/// From this share on two tables are of one population.
inline constexpr double alike_from = 0.25;

keyed_sketches under(const run_key& key, const unit_sketches& sketches);
/// The estimated share of the smaller one's units that are in the other, in [0, 1]: the largest over what both sampled.
double likeness(const keyed_sketches& a, const keyed_sketches& b);
/// Of the units in either.
keyed_sketches joined(const keyed_sketches& a, const keyed_sketches& b);

/// Of a book. Empty where it has none yet. Errors: bad_input where the file is damaged.
keyed_sketches read_sketches(const std::filesystem::path& book);
void write_sketches(const std::filesystem::path& book, const keyed_sketches& sketches);

// Search. Which book a run's data have.

struct book_request {
    std::string asked;              ///< privacy.book: a name, a path, or found_book
    std::string name;               ///< of a new book that is found by its data; taken ones get a number
    unit_sketches sketches;         ///< of the data
    std::filesystem::path started;  ///< the book of the run's last start, where it had one
};

struct book_answer {
    std::filesystem::path directory;
    double likeness = 0;  ///< of the data to those that it knows
    bool fresh = false;   ///< it was made now
};

/// Finds it, and makes it where there is none. The sketch of a new one is written at once, so that of two runs that
/// begin together the second finds what the first made. Errors: bad_input where a name or path would begin a new book
/// although another in the home has data like these; as make_book.
book_answer find_book(const book_request& request);

/// The same, where there is one already; nothing is made. Errors: as find_book.
std::optional<book_answer> find_known_book(const book_request& request);

/// The books in the home, by name.
std::vector<std::filesystem::path> books_at_home();

/// A name in the home, or the path of a directory; a name that is a book in the working directory is that.
std::filesystem::path book_called(const std::string& text);

}  // namespace rldp::privacy

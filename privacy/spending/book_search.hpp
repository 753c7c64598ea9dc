#pragma once
// Which book a run's data have.
#include <filesystem>
#include <string>
#include <vector>

#include "config/base/unit_sketch.hpp"

namespace rldp::privacy {

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

/// The books in the home, by name.
std::vector<std::filesystem::path> books_at_home();

/// A name in the home, or the path of a directory; a name that is a book in the working directory is that.
std::filesystem::path book_called(const std::string& text);

}  // namespace rldp::privacy

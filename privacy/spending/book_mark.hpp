#pragma once
// What a run directory remembers of its last start, to tell it from a copy. Every start writes a nonce here and in the
// book: here as one to come, then in the book, then here as the last. Whichever write a crash prevents, the directory
// knows the book's last nonce; a copy does not once its original has started again.
#include <filesystem>
#include <string>
#include <vector>

namespace rldp::privacy {

struct book_mark {
    /// A line of the book, and the nonce of a start.
    struct start {
        std::string run, nonce;
        bool operator==(const start&) const = default;
    };
    std::filesystem::path book;
    std::vector<start> starts;  ///< the last, and one that may have been entered or not
};

/// Empty where there is no file: of a run that never started, or only in a version without nonces.
book_mark read_mark(const std::filesystem::path& file);
/// Durable.
void write_mark(const std::filesystem::path& file, const book_mark& mark);

std::string new_nonce();

}  // namespace rldp::privacy

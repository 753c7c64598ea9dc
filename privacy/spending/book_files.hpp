#pragma once
// The files of a budget book: where it lies, who may write it, and what a run directory remembers of it.
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.hpp"

namespace rldp::privacy {

// Places. Where a budget book lies, and who may write it.

/// Where books lie that are known by name: $RLDP_BOOKS, else $XDG_DATA_HOME/rldp/books, else ~/.local/share/rldp/books.
/// Errors: bad_input where none of them is set.
std::filesystem::path books_home();

bool is_book(const std::filesystem::path& directory);
/// Of a version that did not know data again, nor any run since.
bool is_of_earlier_version(const std::filesystem::path& directory);

/// Makes a book where there is none yet, of mode 0700; a directory of another purpose is not to be locked up. Errors:
/// bad_input for such a directory, storage_error.
void make_book(const std::filesystem::path& directory);

namespace detail {

/// Says what the failure has to do with a run.
[[noreturn]] void refuse_unwritable(const std::filesystem::path& book, const storage_error& reason);

std::filesystem::path locate_lines(const std::filesystem::path& book);
std::filesystem::path locate_key(const std::filesystem::path& book);
std::filesystem::path locate_sketch(const std::filesystem::path& book);

/// So long a run waits for others that begin at the same time.
inline constexpr std::chrono::seconds longest_wait{60};

/// The only one to write in a directory, as long as this lives. The lock is a file's: a directory's holds only its own
/// machine where the file system is a network's (nfs(5)). Waits for longest_wait. Errors: bad_input where others keep
/// it; storage_error, also where the file system has no locks.
class writing_lock {
  public:
    explicit writing_lock(const std::filesystem::path& directory);
    ~writing_lock();
    writing_lock(const writing_lock&) = delete;
    writing_lock& operator=(const writing_lock&) = delete;

  private:
    int descriptor_;
};

}  // namespace detail

// Marks. What a run directory remembers of its last start, to tell it from a copy. Every start writes a nonce here and
// in the book: here as one to come, then in the book, then here as the last. Whichever write a crash prevents, the
// directory knows the book's last nonce; a copy does not once its original has started again.

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

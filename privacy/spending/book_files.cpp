#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/file.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/directories.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/json_reader.hpp"
#include "privacy/keys/random.hpp"
#include "privacy/keys/secrets.hpp"
#include "privacy/spending/book_files.hpp"

namespace rldp::privacy {

namespace {

namespace fs = std::filesystem;

fs::path from_environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? fs::path(value) : fs::path();
}

fs::path locate_lock(const fs::path& directory) {
    return directory / "lock";
}

/// Nothing but what the making of a book leaves, where it was cut short.
bool is_free(const fs::path& directory) {
    const auto all = list_entries(directory);
    return std::all_of(all.begin(), all.end(), [&](const auto& entry) {
        const auto& path = entry.path();
        return path == locate_lock(directory) || path.filename() == ".gitignore" || path.extension() == ".tmp";
    });
}

}  // namespace

fs::path books_home() {
    if (const auto given = from_environment("RLDP_BOOKS"); !given.empty()) return fs::absolute(given);
    if (const auto shared = from_environment("XDG_DATA_HOME"); shared.is_absolute()) return shared / "rldp/books";
    if (const auto home = from_environment("HOME"); home.is_absolute()) return home / ".local/share/rldp/books";
    refuse(
        "privacy.book: neither RLDP_BOOKS, XDG_DATA_HOME nor HOME says where budget books lie; set RLDP_BOOKS to a "
        "directory");
}

bool is_book(const fs::path& directory) {
    std::error_code absent;
    return fs::exists(detail::locate_key(directory), absent);
}

bool is_of_earlier_version(const fs::path& directory) {
    std::error_code absent;
    return is_book(directory) && !fs::exists(locate_lock(directory), absent);
}

void make_book(const fs::path& directory) {
    if (is_book(directory)) return;
    const auto refuse_other = [&] {
        refuse(directory.string() + ": holds other things and no budget book; name a directory of its own");
    };
    // Where there is a lock, another run may be making it now.
    if (fs::exists(directory) && !fs::exists(locate_lock(directory)) && !is_free(directory) &&
        !fs::exists(locate_lock(directory)))
        refuse_other();
    make_directory(fs::absolute(directory).parent_path());
    create_private_directory(directory);
    const detail::writing_lock alone(directory);
    if (is_book(directory)) return;  // another run's, made meanwhile
    if (!is_free(directory)) refuse_other();
    write_file(directory / ".gitignore", "*\n");  // it is the owner's, not the project's
    run_key::from_system().save(detail::locate_key(directory));
}

namespace detail {

void refuse_unwritable(const fs::path& book, const storage_error& reason) {
    throw storage_error(reason.code(),
                        fmt::format("privacy.book {}: {}; a run begins once its book is written, so make "
                                    "it writable, or name another place (RLDP_BOOKS, privacy.book)",
                                    book.string(), reason.what()));
}

fs::path locate_lines(const fs::path& book) {
    return book / "book.jsonl";
}

fs::path locate_key(const fs::path& book) {
    return book / "book.key";
}

fs::path locate_sketch(const fs::path& book) {
    return book / "book.sketch";
}

writing_lock::writing_lock(const fs::path& directory) {
    using namespace std::chrono_literals;
    const auto path = locate_lock(directory);
    descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor_ < 0) storage_fault(path, "can't be opened", errno);
    const auto until = std::chrono::steady_clock::now() + longest_wait;
    while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
        const int reason = errno;
        const bool late = std::chrono::steady_clock::now() > until;
        if ((reason == EWOULDBLOCK || reason == EINTR) && !late) {
            std::this_thread::sleep_for(20ms);
            continue;
        }
        ::close(descriptor_);
        if (reason == EWOULDBLOCK)
            refuse(directory.string() + ": other runs have been writing here for a minute; try again");
        storage_fault(path, "can't be locked, so two runs could spend the same budget", reason);
    }
}

writing_lock::~writing_lock() {
    ::close(descriptor_);
}

}  // namespace detail

namespace {

using nlohmann::json;

}  // namespace

book_mark read_mark(const std::filesystem::path& file) {
    if (!std::filesystem::exists(file)) return {};
    const auto all = read_object(file);
    const json_reader from(all, file.string());
    book_mark out{.book = from.text("book"), .starts = {}};
    const auto& starts = from.at("starts");
    refuse_unless(starts.is_array() && !starts.empty() && starts.size() <= 2,
                  file.string() + ": starts is no list of one or two; bring back the run's own file");
    for (const auto& one : starts) {
        const json_reader start(one, file.string() + ": starts");
        out.starts.push_back({start.text("run"), start.text("nonce")});
    }
    return out;
}

void write_mark(const std::filesystem::path& file, const book_mark& mark) {
    json starts = json::array();
    for (const auto& one : mark.starts) starts.push_back({{"run", one.run}, {"nonce", one.nonce}});
    const json out{{"book", mark.book.string()}, {"starts", std::move(starts)}};
    write_file(file, out.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

std::string new_nonce() {
    start_sodium();
    std::array<unsigned char, 16> bytes;
    randombytes_buf(bytes.data(), bytes.size());
    std::array<char, 33> hex;
    return sodium_bin2hex(hex.data(), hex.size(), bytes.data(), bytes.size());
}

}  // namespace rldp::privacy

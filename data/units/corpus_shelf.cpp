#include "data/units/corpus_shelf.hpp"

#include <fcntl.h>
#include <fmt/ranges.h>  // fmt::join
#include <sodium.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "config/base/directory.hpp"
#include "config/base/error.hpp"
#include "config/base/files.hpp"

namespace rldp::data {

namespace {

namespace fs = std::filesystem;

fs::path behind_links(fs::path place) {
    std::error_code absent;
    auto out = fs::canonical(place, absent);
    return absent ? std::move(place) : out;
}

fs::path key_in(const fs::path& place) {
    return place / "key";
}

void make_private(const fs::path& place) {
    if (place.has_parent_path()) make_directory(place.parent_path());
    if (::mkdir(place.c_str(), 0700) == 0) return sync_directory(place);
    if (errno != EEXIST) storage_fault(place, "can't be created", errno);
    struct stat found {};
    if (::lstat(place.c_str(), &found) != 0) return;  // gone again
    if (!S_ISDIR(found.st_mode))
        refuse(place.string() + ": is no directory, or leads to none; name one, or a name that is free");
    if ((found.st_mode & 077) != 0)
        refuse(place.string() +
               ": is to hold private records, but others may enter it; chmod 700 it, or name a "
               "directory that does not exist");
}

/// Held by whoever makes a file.
class making {
  public:
    explicit making(const fs::path& place) {
        const auto path = place / "lock";
        descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (descriptor_ < 0) storage_fault(path, "can't be opened", errno);
        while (::flock(descriptor_, LOCK_EX) != 0)
            if (errno != EINTR) {
                const int reason = errno;
                ::close(descriptor_);
                storage_fault(path, "can't be locked", reason);
            }
    }
    ~making() { ::close(descriptor_); }
    making(const making&) = delete;
    making& operator=(const making&) = delete;

  private:
    int descriptor_;
};

corpus_key load_or_make_key(const fs::path& place) {
    if (sodium_init() < 0) throw error(errc::failed, "libsodium can't be initialised; check its installation");
    corpus_key out;
    const auto path = key_in(place);
    std::error_code absent;
    if (fs::exists(path, absent)) {
        const auto bytes = read_file(path);
        if (bytes.size() == out.size()) {
            std::memcpy(out.data(), bytes.data(), out.size());
            return out;
        }
    }
    randombytes_buf(out.data(), out.size());
    write_file(path, {reinterpret_cast<const char*>(out.data()), out.size()}, 0600);
    return out;
}

fs::path file_for(const fs::path& place, const std::string& facts, const corpus_key& key) {
    std::array<unsigned char, 16> name;
    crypto_generichash(name.data(), name.size(), reinterpret_cast<const unsigned char*>(facts.data()), facts.size(),
                       key.data(), key.size());
    return place / fmt::format("{:02x}.corpus", fmt::join(name, ""));
}

void remove_all(const fs::path& place, std::string_view extension) {
    for (const auto& entry : list_entries(place))
        if (entry.path().extension() == extension) remove_file(entry.path());
}

}  // namespace

token_cache::token_cache(fs::path place) : place_(behind_links(std::move(place))) {
    do {  // again where somebody who cleans up was faster than the lock
        make_private(place_);
        in_use_ = directory_lock::take(place_, directory_lock::kind::shared);
    } while (!in_use_);
}

token_corpus token_cache::get(const std::string& facts, bool single,
                               const std::function<token_corpus(token_sink&)>& read) {
    const making alone(place_);
    const auto key = load_or_make_key(place_);
    const auto path = file_for(place_, facts, key);
    if (auto found = corpus_file::open(path, key)) return std::move(*found);
    remove_all(place_, ".partial");  // of makers that were killed: only one makes at a time
    if (single) remove_all(place_, ".corpus");
    const auto partial = fs::path(path).replace_extension(".partial");
    corpus_writer writer(partial, key);
    writer.finish(read(writer));
    put_in_place(partial, path);
    auto made = corpus_file::open(path, key);
    if (!made) throw error(errc::failed, path.string() + ": was damaged while it was written; check the disk");
    return std::move(*made);
}

void token_cache::move_to(const fs::path& place) {
    if (::rename(place_.c_str(), place.c_str()) != 0) storage_fault(place, "can't be put in place", errno);
    sync_directory(place);
    sync_directory(std::exchange(place_, place));
}

bool erase_token_cache(const fs::path& place) {
    std::error_code absent;
    if (!fs::is_directory(place, absent)) return false;
    remove_file(key_in(place));
    std::error_code reason;
    fs::remove_all(place, reason);
    if (reason) storage_fault(place, "holds private records and can't be erased", reason.value());
    return true;
}

}  // namespace rldp::data

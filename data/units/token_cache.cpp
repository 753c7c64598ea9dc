#include <fcntl.h>
#include <fmt/ranges.h>  // fmt::join
#include <sodium.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/data_names.hpp"
#include "base/directories.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "data/sources/piped_rows.hpp"
#include "data/units/token_cache.hpp"

namespace rldp::data {

namespace {

using nlohmann::json;

json nanoseconds(const timespec& at) {
    return {at.tv_sec, at.tv_nsec};
}

json facts_of_file(const std::string& path) {
    if (is_piped(path)) return {path, standard_rows().digest};
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) return nullptr;
    return {std::filesystem::path(path).filename().string(), found.st_size, found.st_ino, nanoseconds(found.st_mtim),
            nanoseconds(found.st_ctim)};
}

json facts_of_file(const std::optional<std::string>& path) {
    return path ? facts_of_file(*path) : json();
}

template <class T>
json as_json(const std::optional<T>& value) {
    return value ? json(*value) : json();
}

}  // namespace

std::string file_facts(const std::string& path) {
    return facts_of_file(path).dump();
}

std::string list_corpus_facts(const source& from, const split_rule& split, const token_rule& how) {
    const bool made_up = is_synthetic(from.path);
    const json out{
        {"reading", 3},  // goes up where the same records become other tokens, clauses or units
        {"records",
         {{"path", made_up ? json(from.path) : facts_of_file(from.path)},
          {"ids_mapping", made_up ? facts_of_file(from.ids_mapping) : facts_of_file(find_code_book_path(from))},
          {"template", facts_of_file(from.narrative)},
          {"group", as_json(from.group)},
          {"made_up_seed", made_up ? from.made_up_seed : 0}}},
        {"split",
         {{"exact", split.how == split_kind::exact},
          {"seed", split.seed},
          {"canaries", split.canaries},
          {"canary_length", split.canary_length},
          {"max_records", split.max_records},
          {"attack", split.attack},
          {"eval", split.eval},
          {"population", as_json(split.population)},
          {"shadow", split.shadow ? json{split.shadow->targets, split.shadow->number} : json()}}},
        {"tokens",
         {{"max", how.max_tokens},
          {"tail", how.keep_tail},
          {"mark_training", how.mark_training},
          {"held_out", as_json(how.held_out)},
          {"by", how.identity}}}};
    return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

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

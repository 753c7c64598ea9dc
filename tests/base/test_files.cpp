// Files that are whole or absent, and files that only grow.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "base/directories.hpp"
#include "base/files.hpp"
#include "base/system.hpp"
#include "base/temporary_directory.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

#include "tests/catch.hpp"

using namespace rldp;
namespace fs = std::filesystem;

namespace {

/// While it lives, files end at `bytes`, as they do on a full disk.
class size_limit {
  public:
    explicit size_limit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &former_);
        const rlimit limit{bytes, former_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~size_limit() {
        ::setrlimit(RLIMIT_FSIZE, &former_);
        std::signal(SIGXFSZ, handler_);
    }
    size_limit(const size_limit&) = delete;
    size_limit& operator=(const size_limit&) = delete;

  private:
    void (*handler_)(int);
    rlimit former_{};
};

}  // namespace

TEST_CASE("what was written is read, zero bytes included") {
    const scratch_directory dir;
    const std::string bytes("a\0\r\n\xff", 5);
    write_file(dir.path() / "f", bytes);
    CHECK(read_file(dir.path() / "f") == bytes);
    write_file(dir.path() / "f", "shorter");
    CHECK(read_file(dir.path() / "f") == "shorter");
    CHECK(std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("what can't be read is refused by name") {
    const scratch_directory dir;
    CHECK(refusal([&] { read_file(dir.path() / "none"); }).find("none: no such file") != std::string::npos);
    CHECK(refusal([&] { read_file(dir.path()); }).find("is a directory") != std::string::npos);
}

TEST_CASE("what can't be written fails and leaves nothing behind") {
    const scratch_directory dir;
    CHECK_THROWS_AS(write_file(dir.path() / "none/f", "x"), rldp::error);
    CHECK(fs::is_empty(dir.path()));
    fs::create_directory(dir.path() / "taken");
    CHECK_THROWS_AS(write_file(dir.path() / "taken", "x"), rldp::error);
    CHECK_FALSE(fs::exists(dir.path() / "taken.tmp"));
}

TEST_CASE("a full disk leaves the old content") {
    const scratch_directory dir;
    write_file(dir.path() / "whole", "old");
    append_file log(dir.path() / "log");
    log.append("12345");
    {
        const size_limit full(8);
        CHECK_THROWS_AS(write_file(dir.path() / "whole", "0123456789"), rldp::error);
        CHECK_THROWS_AS(log.append("67890"), rldp::error);  // three of the five bytes would fit
    }
    CHECK(read_file(dir.path() / "whole") == "old");
    CHECK_FALSE(fs::exists(dir.path() / "whole.tmp"));
    CHECK(read_file(dir.path() / "log") == "12345");
    log.append("6");
    CHECK(read_file(dir.path() / "log") == "123456");
}

TEST_CASE("of two files that are nothing without each other, both are there or none") {
    const scratch_directory dir;
    const auto first = dir.path() / "key", second = dir.path() / "key.pub";
    CHECK_THROWS(write_pair(first, "secret", 0600, dir.path() / "none/key.pub", "public"));
    CHECK_FALSE(std::filesystem::exists(first));
    write_pair(first, "secret", 0600, second, "public");
    CHECK((std::filesystem::status(first).permissions() & std::filesystem::perms(077)) == std::filesystem::perms::none);
    CHECK(read_file(first) + read_file(second) == "secretpublic");
    CHECK(refusal([&] { refuse_existing_pair(first, second, "take another"); }) ==
          first.string() + ": exists already; take another");
    std::filesystem::remove(first);  // as a kill between the two leaves it
    CHECK(refusal([&] { refuse_existing_pair(first, second, "take another"); }).find("half of a pair that was cut") !=
          std::string::npos);
    std::filesystem::remove(second);
    refuse_existing_pair(first, second, "take another");
}

TEST_CASE("a private directory is for its owner only") {
    const scratch_directory dir;
    create_private_directory(dir.path() / "a/trusted");
    struct stat status {};
    REQUIRE(::stat((dir.path() / "a/trusted").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
    ::chmod((dir.path() / "a/trusted").c_str(), 0755);
    create_private_directory(dir.path() / "a/trusted");
    REQUIRE(::stat((dir.path() / "a/trusted").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("a file in a private directory is its owner's alone") {
    const scratch_directory dir;
    create_private_directory(dir.path() / "trusted");
    write_file(dir.path() / "trusted/a", "x");
    append_file(dir.path() / "trusted/b").append("x");
    fs::create_directories(dir.path() / "open");
    write_file(dir.path() / "open/a", "x");
    const auto others = [&](const char* name) { return fs::status(dir.path() / name).permissions() & fs::perms(0077); };
    CHECK(others("trusted/a") == fs::perms::none);
    CHECK(others("trusted/b") == fs::perms::none);
    CHECK(others("open/a") != fs::perms::none);
}

TEST_CASE("a temporary directory is its owner's alone, and gone with all that lies in it") {
    fs::path where;
    {
        const rldp::temporary_directory one, other;
        where = one.path();
        CHECK(other.path() != where);
        CHECK(fs::status(where).permissions() == fs::perms::owner_all);
        fs::create_directories(where / "deep");
        std::ofstream(where / "deep" / "file") << "text";
    }
    CHECK_FALSE(fs::exists(where));
}

TEST_CASE("while a directory has a fixed time, everything in it shows that one") {
    const scratch_directory dir;
    const auto root = dir.path() / "public";
    fs::create_directories(root / "deep");
    write_file(root / "before", "x");
    write_file(dir.path() / "outside", "x");
    const auto times = [&] {
        std::set<std::int64_t> out;
        const auto add = [&](const fs::path& path) {
            struct stat status {};
            REQUIRE(::stat(path.c_str(), &status) == 0);
            out.insert(status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec);
        };
        add(root);
        for (const auto& entry : fs::recursive_directory_iterator(root)) add(entry.path());
        return out;
    };
    const auto day = parse_date("2026-01-31");
    CHECK(day == 1769817600);
    const std::set<std::int64_t> fixed{day * 1'000'000'000};
    {
        const fixed_time held(root, day);
        CHECK(times() == fixed);
        write_file(root / "deep/new", "x");
        append_file log(root / "log");
        CHECK(times() == fixed);
        log.append("line");
        CHECK(times() == fixed);
        log.truncate(1);
        CHECK(times() == fixed);
        put_in_place(root / "deep/new", root / "deep/renamed");
        CHECK(times() == fixed);
        remove_file(root / "deep/renamed");
        make_directory(root / "deep/er");
        CHECK(times() == fixed);
        write_file(dir.path() / "outside", "y");
        fs::create_directories(root / "by others");
    }
    CHECK(times() == fixed);  // the last word
    write_file(root / "later", "x");
    CHECK(times() != fixed);
    struct stat status {};
    REQUIRE(::stat((dir.path() / "outside").c_str(), &status) == 0);
    CHECK(status.st_mtim.tv_sec != day);
}

// As a program does that a killed run was just starting.
TEST_CASE("a lock that somebody holds for a moment is waited for") {
    const scratch_directory dir;
    const auto path = dir.path() / "log";
    append_file(path).append("one\n");
    int held[2];
    REQUIRE(::pipe(held) == 0);
    const pid_t holder = ::fork();
    REQUIRE(holder >= 0);
    if (holder == 0) {
        const int file = ::open(path.c_str(), O_RDONLY);
        const bool locked = file >= 0 && ::flock(file, LOCK_EX | LOCK_NB) == 0;
        std::signal(SIGALRM, SIG_DFL);
        ::ualarm(100'000, 0);
        if (locked && ::write(held[1], "x", 1) == 1) ::pause();
        ::_exit(1);
    }
    char seen = 0;
    REQUIRE(::read(held[0], &seen, 1) == 1);
    CHECK(append_file(path).size() == 4);
    int status = 0;
    CHECK(::waitpid(holder, &status, 0) == holder);
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM));
    ::close(held[0]);
    ::close(held[1]);
}

TEST_CASE("a growing file appends, reopens at its end, is cut, and has one writer") {
    const scratch_directory dir;
    const auto path = dir.path() / "log";
    {
        append_file log(path);
        log.append("one\n");
        log.append("two\n");
        CHECK(log.size() == 8);
        CHECK(refusal([&] { append_file second(path); }).find("another process") != std::string::npos);
        auto moved = std::move(log);
        moved.append("three\n");
    }
    std::optional<append_file> first(path);
    std::thread ends([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        first.reset();
    });
    append_file again(path, std::chrono::seconds(60));  // which waits for the first to end
    ends.join();
    CHECK(again.size() == 14);
    again.truncate(4);
    again.append("2\n");
    CHECK(read_file(path) == "one\n2\n");
}

TEST_CASE("a directory's entries are listed, or the directory is named") {
    const scratch_directory dir;
    const auto top = dir.path() / "top";
    fs::create_directories(top / "inner");
    write_file(top / "inner/file", "x");
    fs::create_directory_symlink(top, top / "inner/again");
    CHECK(list_entries(top).size() == 1);
    CHECK(entries_below(top).size() == 3);
    for (const auto& missing : {top / "none", top / "inner/file"})
        CHECK(refusal([&] { entries_below(missing); }).find(missing.string() + ": can't be listed: ") == 0);
}

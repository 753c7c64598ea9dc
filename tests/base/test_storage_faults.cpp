// Storage that fails: one line with the path and the reason, and a status that says whose fault it is.
#include <cerrno>
#include <cstring>
#include <functional>

#include "base/directories.hpp"
#include "base/files.hpp"
#include "tests/base/storage_faults.hpp"
#include "tests/support/scratch_directory.hpp"

#include "tests/catch.hpp"

using namespace rldp;
namespace fs = std::filesystem;
using calls = std::vector<std::string>;

namespace {

struct fault {
    int status = 0;
    std::string line;
};

fault catch_fault(const std::function<void()>& act) {
    try {
        act();
    } catch (const storage_error& e) {
        return {static_cast<int>(e.code()), e.what()};
    }
    return {};
}

std::string in(const scratch_directory& dir) {
    return dir.path().filename().string();
}

}  // namespace

TEST_CASE("a path that can't be is the user's, storage that fails is not") {
    const scratch_directory dir;
    const auto [call, act] = GENERATE_COPY(table<std::string, std::function<void(const fs::path&)>>({
        {"mkdir", [](const fs::path& to) { make_directory(to); }},
        {"rename", [](const fs::path& to) { write_file(to, "x"); }},
        {"rename",
         [](const fs::path& to) { fs::create_directory(to.string() + "1"), put_in_place(to.string() + "1", to); }},
        {"fsync", [](const fs::path& to) { write_file(to, "x"); }},
        {"fsync directory", [](const fs::path& to) { write_file(to, "x"); }},
        {"fsync directory", [](const fs::path& to) { make_directory(to); }},
        {"fsync directory", [](const fs::path& to) { append_file{to}; }},
        {"unlink", [](const fs::path& to) { remove_file(to); }},
    }));
    const auto [reason, status] = GENERATE(
        table<int, int>({{EACCES, 2}, {EPERM, 2}, {EROFS, 2}, {ENAMETOOLONG, 2}, {ENOSPC, 2}, {EDQUOT, 2}, {EIO, 1}}));
    INFO(call << ": " << std::strerror(reason));
    const failing now(call, reason);
    const auto got = catch_fault([&] { act(dir.path() / "made"); });
    CHECK(got.status == status);
    CHECK(got.line.starts_with(dir.path().string()));
    CHECK(got.line.ends_with(std::string(": ") + std::strerror(reason)));
}

TEST_CASE("what stands in the way of a directory is named") {
    const scratch_directory dir;
    write_file(dir.path() / "file", "x");
    for (const auto& path : {dir.path() / "file", dir.path() / "file/deep/er"}) {
        const auto got = catch_fault([&] { make_directory(path); });
        INFO(got.line);
        CHECK(got.status == 2);
        CHECK(got.line.find("file") != std::string::npos);
        CHECK(got.line.find("can't be created: ") != std::string::npos);
    }
    CHECK(catch_fault([&] { make_directory(dir.path()); }).status == 0);
    CHECK(catch_fault([&] { make_directory(dir.path() / "a/b/"); }).status == 0);
    CHECK(fs::is_directory(dir.path() / "a/b"));
    CHECK(catch_fault([&] { put_in_place(dir.path() / "none", dir.path() / "b"); }).line ==
          (dir.path() / "b").string() + ": can't be put in place: No such file or directory");
    CHECK(catch_fault([&] { staged_directory{dir.path() / "file/b"}; }).status == 2);
}

TEST_CASE("names are durable once made") {
    const scratch_directory dir;
    CHECK(record_calls([&] { write_file(dir.path() / "f", "x"); }) ==
          calls{"unlink f.tmp", "fsync f.tmp", "rename f", "fsync directory " + in(dir)});
    CHECK(record_calls([&] { make_directory(dir.path() / "a/b"); }) ==
          calls{"mkdir a", "fsync directory " + in(dir), "mkdir b", "fsync directory a"});
    CHECK(record_calls([&] { make_directory(dir.path() / "a/b"); }).empty());
    CHECK(record_calls([&] { append_file{dir.path() / "log"}; }) == calls{"fsync directory " + in(dir)});
    CHECK(record_calls([&] { append_file{dir.path() / "log"}; }).empty());
    CHECK(record_calls([&] { put_in_place(dir.path() / "a", dir.path() / "c"); }) ==
          calls{"rename c", "fsync directory " + in(dir)});
    CHECK(record_calls([&] { remove_file(dir.path() / "log"); }) == calls{"unlink log", "fsync directory " + in(dir)});
    CHECK(catch_fault([&] { remove_file(dir.path() / "log"); }).status == 0);
}

TEST_CASE("a file system that can't make names durable is used all the same") {
    const scratch_directory dir;
    const failing now("fsync directory", EINVAL);
    CHECK(catch_fault([&] { write_file(dir.path() / "f", "x"); }).status == 0);
}

TEST_CASE("what failed before the rename leaves the old file and no other") {
    const scratch_directory dir;
    write_file(dir.path() / "f", "old");
    for (const auto* call : {"fsync", "rename"}) {
        const failing now(call, EIO);
        CHECK(catch_fault([&] { write_file(dir.path() / "f", "new"); }).status == 1);
        CHECK(read_file(dir.path() / "f") == "old");
        CHECK(std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()) == 1);
    }
}

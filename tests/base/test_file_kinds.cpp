// What is no regular file is neither read nor appended to: opening a FIFO would wait for ever.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>

#include "base/files.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

#include "tests/catch.hpp"

using namespace rldp;
namespace fs = std::filesystem;

namespace {

void make_socket(const fs::path& path) {
    const int descriptor = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    REQUIRE(path.string().size() < sizeof address.sun_path);
    std::strcpy(address.sun_path, path.c_str());
    REQUIRE(::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    ::close(descriptor);
}

}  // namespace

TEST_CASE("only regular files are read, through links or not") {
    const scratch_directory dir;
    REQUIRE(::mkfifo((dir.path() / "fifo").c_str(), 0600) == 0);
    fs::create_symlink("fifo", dir.path() / "link");
    make_socket(dir.path() / "socket");
    fs::create_symlink("nowhere", dir.path() / "dangling");
    const auto says = [](const fs::path& path) { return refusal([&] { read_file(path); }); };
    const std::string remedy = ", not a regular file; put what it gives into a file, and name that";
    CHECK(says(dir.path() / "fifo") == (dir.path() / "fifo").string() + ": is a FIFO" + remedy);
    CHECK(says(dir.path() / "link") == (dir.path() / "link").string() + ": is a FIFO" + remedy);
    CHECK(says(dir.path() / "socket") == (dir.path() / "socket").string() + ": is a socket" + remedy);
    CHECK(says("/dev/zero") == "/dev/zero: is a device" + remedy);
    CHECK(says("/dev/null") == "/dev/null: is a device" + remedy);
    CHECK(says(dir.path()) == dir.path().string() + ": is a directory, not a regular file; name a file");
    CHECK(says(dir.path() / "dangling") == (dir.path() / "dangling").string() + ": no such file");
    write_file(dir.path() / "f", "x");
    CHECK(says(dir.path() / "f/g").find("can't be read: Not a directory") != std::string::npos);
}

TEST_CASE("what Git LFS left in the place of a file is not read as the file") {
    const scratch_directory dir;
    const auto says = [&](const std::string& text) {
        write_file(dir.path() / "f", text);
        return refusal([&] { read_file(dir.path() / "f"); });
    };
    const std::string pointer =
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935\nsize 548105171\n";
    CHECK(says(pointer) == (dir.path() / "f").string() +
                               ": is a Git LFS pointer, not the file itself; call git lfs pull where it was cloned, or "
                               "download it anew");
    CHECK(says("x" + pointer).empty());
    CHECK(says(pointer + std::string(2000, ' ')).empty());  // a pointer has less than 1024 bytes
    CHECK(says(pointer.substr(0, 20)).empty());
}

TEST_CASE("only regular files grow") {
    const scratch_directory dir;
    REQUIRE(::mkfifo((dir.path() / "fifo").c_str(), 0600) == 0);
    CHECK(refusal([&] { append_file(dir.path() / "fifo"); }).find("is a FIFO") != std::string::npos);
    CHECK(refusal([&] { append_file("/dev/full"); }).find("is a device") != std::string::npos);
    CHECK(refusal([&] { append_file{dir.path()}; }).find("Is a directory") != std::string::npos);
}

TEST_CASE("a file is read to its end whatever it says its size is") {
    CHECK(read_file("/proc/self/status").starts_with("Name:"));  // of size 0
    const scratch_directory dir;
    for (const std::size_t size : {0, 1, 4095, 4096, 100'000}) {
        std::string bytes(size, 'a');
        for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * i);
        write_file(dir.path() / "f", bytes);
        CHECK(read_file(dir.path() / "f") == bytes);
    }
}

TEST_CASE("text holds no zero byte") {
    const scratch_directory dir;
    write_file(dir.path() / "f", std::string("ab\0c", 4));
    CHECK(refusal([&] { read_text(dir.path() / "f"); }).find("f: byte 3 is zero") != std::string::npos);
    write_file(dir.path() / "f", "abc");
    CHECK(read_text(dir.path() / "f") == "abc");
}

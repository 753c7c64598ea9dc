#include "tests/fuzz/reading.hpp"

#include <sanitizer/allocator_interface.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/error.hpp"

namespace rldp::fuzz {

namespace {

namespace fs = std::filesystem;

// Bytes held per byte of input, and besides: compiled patterns, torch's caches, a tokenizer's table of words seen (1
// MB).
constexpr std::ptrdiff_t bytes_per_byte = 128, bytes_besides = 3 << 20;

std::atomic<std::ptrdiff_t> held = 0, most_held = 0;  // bytes since the reading began

void on_allocation(const volatile void*, std::size_t size) {
    const auto now = held += static_cast<std::ptrdiff_t>(size);
    auto most = most_held.load();
    while (now > most && !most_held.compare_exchange_weak(most, now)) {
    }
}

void on_release(const volatile void* block) {
    held -= static_cast<std::ptrdiff_t>(__sanitizer_get_allocated_size(const_cast<void*>(block)));
}

[[noreturn]] void stop(const std::string& why) {
    std::fprintf(stderr, "fuzz: %s\n", why.c_str());
    std::abort();
}

struct scratch_directory {
    fs::path path;
    scratch_directory() {
        auto name = (fs::temp_directory_path() / "rldp-fuzz-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) stop(name + ": can't be created");
        path = name;
    }
    ~scratch_directory() { fs::remove_all(path); }
};

void check_refusal(const error& refusal) {
    const std::string line = refusal.what();
    if (refusal.code() != errc::bad_input) stop("not taken for bad input: " + line);
    if (std::any_of(line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
        stop("not one printable line: " + line);
    const auto here = directory().string() + "/";
    const auto colon = line.find(": ", here.size());
    if (!line.starts_with(here) || colon == std::string::npos || colon + 2 == line.size())
        stop("names no file, or nothing of it: " + line);
}

}  // namespace

const fs::path& directory() {
    static const scratch_directory scratch;
    return scratch.path;
}

two_files split(const std::uint8_t* bytes, std::size_t size) {
    if (size < 2) return {};
    const auto both = to_text(bytes + 2, size - 2);
    const auto first = std::min<std::size_t>(bytes[0] | bytes[1] << 8, both.size());
    return {both.substr(0, first), both.substr(first)};
}

void write(const char* name, std::string_view bytes) {
    std::ofstream file(directory() / name, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    require(bool(file.flush()), "a scratch file can't be written");
}

void check_reading(std::size_t size, const std::function<void()>& read) {
    [[maybe_unused]] static const int installed = __sanitizer_install_malloc_and_free_hooks(on_allocation, on_release);
    held = most_held = 0;
    try {
        read();
    } catch (const error& refusal) {
        check_refusal(refusal);
    } catch (const std::exception& other) {
        stop(std::string("another exception: ") + other.what());
    }
    if (const auto most = most_held.load(); most > bytes_besides + bytes_per_byte * static_cast<std::ptrdiff_t>(size))
        stop(std::to_string(most) + " bytes of memory for " + std::to_string(size) + " bytes of input");
}

void require(bool holds, const char* what) {
    if (!holds) stop(what);
}

}  // namespace rldp::fuzz

#pragma once
// The recording half of the preloaded library: what a process did to files, in the order in which it took effect.
// A record is a line "EVENT NUMBER LENGTH PATH" and LENGTH bytes. Events and their number: create (mode), mkdir (mode),
// write (offset; the bytes), truncate (size), fsync, rename (the bytes are the new path), unlink, rmdir, open and
// close, which change nothing and only number the calls, and fault (errno), a call that was made to fail.
#include <cstddef>
#include <mutex>
#include <string>

namespace rldp::testing::shim {

/// Whether anything is recorded.
bool recording();

/// Held over a call and its record, so that the records' order is the calls' order. Nothing while nothing is recorded.
std::unique_lock<std::mutex> in_order();

void record(const char* event, long long number, const std::string& path, const void* bytes = nullptr,
            std::size_t length = 0);

}  // namespace rldp::testing::shim

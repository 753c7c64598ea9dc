#pragma once
// What the library shall do to which call. It reads its orders from the environment:
//   RLDP_FAULT_BELOW    a directory: only it and what is below it are touched
//   RLDP_FAULT          KIND:PATH:N:ACTION, several parted by commas: the N-th call of that kind whose path holds
//                       PATH; 0 is every call; KIND any is every kind
//   RLDP_FAULT_ROOM     bytes that may be written below, as on a disk that is nearly full
//   RLDP_FAULT_CLOCK    a seed: the time of day jumps at every reading, by up to twenty years to either side
//   RLDP_FAULT_JOURNAL  a file: every call below that changes something is recorded there (journal.hpp)
// Kinds: write fsync rename mkdir truncate open unlink close. Actions: an errno (EIO, ENOSPC, EDQUOT, EINTR, EACCES,
// EMFILE), short (half is written), drop (says it was done), die-before, die-after.
#include <cstddef>
#include <string>

namespace rldp::testing::shim {

struct decision {
    int error = 0;
    bool half = false, drop = false, die_before = false, die_after = false;
};

/// Reads the orders again: for a process that was forked, and not executed, with an environment of its own.
void obey();

/// Whether files of this absolute path are touched at all.
bool watches(const std::string& path);

/// Counts the call and says what becomes of it.
decision decide(const char* kind, const std::string& path);

/// How many of so many bytes the disk has room for. It fills up.
std::size_t room_for(std::size_t bytes);

/// By how many seconds the time of day is wrong this time.
long clock_error();

/// SIGKILL to this process, at once.
[[noreturn]] void die();

}  // namespace rldp::testing::shim

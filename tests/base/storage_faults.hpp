#pragma once
// Lets calls to the storage fail, and notes which were made. The test program's own definitions of mkdir, rename,
// fsync and unlink stand before the C library's.
#include <string>
#include <vector>

/// While it lives, every call of that name fails with that errno.
class failing {
  public:
    failing(const std::string& call, int reason);
    ~failing();
    failing(const failing&) = delete;
    failing& operator=(const failing&) = delete;
};

extern std::vector<std::string> storage_calls;

/// The calls that `act` makes, as "rename NAME", or "fsync directory NAME", by the last part of the path it is about.
template <class Act>
std::vector<std::string> record_calls(Act&& act) {
    storage_calls.clear();
    act();
    return storage_calls;
}

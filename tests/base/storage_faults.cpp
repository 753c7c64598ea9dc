#include "tests/base/storage_faults.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

std::vector<std::string> storage_calls;

namespace {

std::string failing_call;
int failing_reason = 0;

/// Notes the call; whether it is to fail, with errno set.
bool fails(const std::string& call, const std::filesystem::path& about) {
    storage_calls.push_back(call + " " + about.filename().string());
    if (call != failing_call) return false;
    errno = failing_reason;
    return true;
}

template <class Function>
Function* real(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

failing::failing(const std::string& call, int reason) {
    failing_call = call;
    failing_reason = reason;
}

failing::~failing() {
    failing_call.clear();
}

extern "C" int mkdir(const char* path, mode_t mode) noexcept {
    return fails("mkdir", path) ? -1 : real<int(const char*, mode_t)>("mkdir")(path, mode);
}

extern "C" int rename(const char* from, const char* to) noexcept {
    return fails("rename", to) ? -1 : real<int(const char*, const char*)>("rename")(from, to);
}

extern "C" int fsync(int descriptor) {
    const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor));
    const auto call = std::filesystem::is_directory(path) ? "fsync directory" : "fsync";
    return fails(call, path) ? -1 : real<int(int)>("fsync")(descriptor);
}

extern "C" int unlink(const char* path) noexcept {
    return fails("unlink", path) ? -1 : real<int(const char*)>("unlink")(path);
}

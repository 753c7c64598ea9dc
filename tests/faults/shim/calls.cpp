// Stands in for the C library's calls that change files (LD_PRELOAD). What the C library does inside itself (fwrite,
// and so the trusted log) does not pass here.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "tests/faults/shim/journal.hpp"
#include "tests/faults/shim/paths.hpp"
#include "tests/faults/shim/plan.hpp"

namespace {

using namespace rldp::testing::shim;

template <class Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

/// Calls, unless the plan says otherwise; `note` records a success.
template <class Result, class Call, class Note>
Result guarded(const char* kind, const std::string& path, Result failure, Call call, Note note) {
    if (!watches(path)) return call();
    const auto what = decide(kind, path);
    if (what.die_before) die();
    if (what.error != 0) {
        record("fault", what.error, path);
        errno = what.error;
        return failure;
    }
    Result result{};
    if (!what.drop) {
        const auto order = in_order();
        result = call();
        const int kept = errno;
        if (result != failure) note(result);
        errno = kept;
    }
    if (what.die_after) die();
    return result;
}

/// A write of `count` bytes by call(count), of which `offset` says afterwards where it began.
template <class Call, class Offset>
ssize_t guarded_write(int file, const void* bytes, size_t count, Call call, Offset offset) {
    const auto path = find_path(file);
    if (!watches(path)) return call(count);
    const auto what = decide("write", path);
    if (what.die_before) die();
    const auto room = room_for(count);
    if (what.error != 0 || (room == 0 && count > 0)) {
        record("fault", what.error, path);
        errno = what.error != 0 ? what.error : ENOSPC;
        return -1;
    }
    if (what.drop) return static_cast<ssize_t>(count);
    const auto granted = what.half && room > 1 ? room / 2 : room;
    ssize_t written = 0;
    {
        const auto order = in_order();
        written = call(granted);
        const int kept = errno;
        if (written > 0) record("write", offset(written), path, bytes, static_cast<size_t>(written));
        errno = kept;
    }
    if (what.die_after) die();
    return written;
}

template <class Opened, class Call>
Opened guarded_open(const std::string& path, int flags, mode_t mode, Opened failure, Call call) {
    const bool there = watches(path) && exists(path);
    return guarded("open", path, failure, call, [&](const Opened&) {
        if (!there)
            record("create", mode, path);
        else if (flags & O_TRUNC)
            record("truncate", 0, path);
        else
            record("open", 0, path);
    });
}

int guarded_rename(int from_directory, const char* from, int to_directory, const char* to, unsigned flags) {
    const auto target = absolute(to_directory, to);
    return guarded(
        "rename", target, -1,
        [&] { return static_cast<int>(::syscall(SYS_renameat2, from_directory, from, to_directory, to, flags)); },
        [&](int) { record("rename", 0, absolute(from_directory, from), target.data(), target.size()); });
}

int guarded_unlink(int directory, const char* path, int flags) {
    const auto name = absolute(directory, path);
    return guarded(
        "unlink", name, -1, [&] { return static_cast<int>(::syscall(SYS_unlinkat, directory, path, flags)); },
        [&](int) { record(flags & AT_REMOVEDIR ? "rmdir" : "unlink", 0, name); });
}

int guarded_mkdir(int directory, const char* path, mode_t mode) {
    const auto name = absolute(directory, path);
    return guarded(
        "mkdir", name, -1, [&] { return static_cast<int>(::syscall(SYS_mkdirat, directory, path, mode)); },
        [&](int) { record("mkdir", mode, name); });
}

int guarded_sync(int file, long call) {
    const auto path = find_path(file);
    return guarded(
        "fsync", path, -1, [&] { return static_cast<int>(::syscall(call, file)); },
        [&](int) { record("fsync", 0, path); });
}

template <class Call>
int guarded_truncate(const std::string& path, off_t size, Call call) {
    return guarded("truncate", path, -1, call, [&](int) { record("truncate", size, path); });
}

mode_t mode_in(int flags, va_list rest) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}

int opened(int directory, const char* path, int flags, mode_t mode) {
    return guarded_open(absolute(directory, path), flags, mode, -1,
                        [&] { return static_cast<int>(::syscall(SYS_openat, directory, path, flags, mode)); });
}

FILE* stream(const char* name, const char* path, const char* mode) {
    const auto real = next<decltype(&::fopen)>(name);
    return guarded_open<FILE*>(absolute(AT_FDCWD, path), mode[0] == 'w' ? O_TRUNC : 0, 0644, nullptr,
                               [&] { return real(path, mode); });
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* bytes, size_t count) {
    return guarded_write(
        file, bytes, count, [&](size_t n) { return static_cast<ssize_t>(::syscall(SYS_write, file, bytes, n)); },
        [&](ssize_t n) { return ::lseek(file, 0, SEEK_CUR) - n; });
}

ssize_t pwrite(int file, const void* bytes, size_t count, off_t at) {
    return guarded_write(
        file, bytes, count, [&](size_t n) { return static_cast<ssize_t>(::syscall(SYS_pwrite64, file, bytes, n, at)); },
        [&](ssize_t n) {  // on Linux it appends where the file was opened for that, wherever it is told to write
            struct stat now {};
            const bool appends = ::fcntl(file, F_GETFL) & O_APPEND && ::fstat(file, &now) == 0;
            return appends ? now.st_size - n : at;
        });
}

ssize_t pwrite64(int file, const void* bytes, size_t count, off_t at) {
    return pwrite(file, bytes, count, at);
}

ssize_t writev(int file, const iovec* parts, int count) {
    if (!watches(find_path(file))) return static_cast<ssize_t>(::syscall(SYS_writev, file, parts, count));
    std::string whole;
    for (int i = 0; i < count; ++i) whole.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
    return write(file, whole.data(), whole.size());
}

int fsync(int file) {
    return guarded_sync(file, SYS_fsync);
}

int fdatasync(int file) {
    return guarded_sync(file, SYS_fdatasync);
}

int rename(const char* from, const char* to) {
    return guarded_rename(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat(int from_directory, const char* from, int to_directory, const char* to) {
    return guarded_rename(from_directory, from, to_directory, to, 0);
}

int renameat2(int from_directory, const char* from, int to_directory, const char* to, unsigned flags) {
    return guarded_rename(from_directory, from, to_directory, to, flags);
}

int mkdir(const char* path, mode_t mode) {
    return guarded_mkdir(AT_FDCWD, path, mode);
}

int mkdirat(int directory, const char* path, mode_t mode) {
    return guarded_mkdir(directory, path, mode);
}

int ftruncate(int file, off_t size) {
    return guarded_truncate(find_path(file), size,
                            [&] { return static_cast<int>(::syscall(SYS_ftruncate, file, size)); });
}

int ftruncate64(int file, off_t size) {
    return ftruncate(file, size);
}

int truncate(const char* path, off_t size) {
    return guarded_truncate(absolute(AT_FDCWD, path), size,
                            [&] { return static_cast<int>(::syscall(SYS_truncate, path, size)); });
}

int truncate64(const char* path, off_t size) {
    return truncate(path, size);
}

int open(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const auto mode = mode_in(flags, rest);
    va_end(rest);
    return opened(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const auto mode = mode_in(flags, rest);
    va_end(rest);
    return opened(AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const auto mode = mode_in(flags, rest);
    va_end(rest);
    return opened(directory, path, flags, mode);
}

int openat64(int directory, const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const auto mode = mode_in(flags, rest);
    va_end(rest);
    return opened(directory, path, flags, mode);
}

int creat(const char* path, mode_t mode) {
    return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

FILE* fopen(const char* path, const char* mode) {
    return stream("fopen", path, mode);
}

FILE* fopen64(const char* path, const char* mode) {
    return stream("fopen64", path, mode);
}

int unlink(const char* path) {
    return guarded_unlink(AT_FDCWD, path, 0);
}

int unlinkat(int directory, const char* path, int flags) {
    return guarded_unlink(directory, path, flags);
}

int rmdir(const char* path) {
    return guarded_unlink(AT_FDCWD, path, AT_REMOVEDIR);
}

int remove(const char* path) {
    if (guarded_unlink(AT_FDCWD, path, 0) == 0) return 0;
    return errno == EISDIR ? rmdir(path) : -1;
}

int clock_gettime(clockid_t clock, timespec* now) {
    static const auto real = next<decltype(&::clock_gettime)>("clock_gettime");
    const int failed = real(clock, now);
    if (failed == 0 && clock == CLOCK_REALTIME) now->tv_sec += clock_error();
    return failed;
}

time_t time(time_t* out) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(timeval* __restrict now, void* __restrict zone) {
    static const auto real = next<int (*)(timeval*, void*)>("gettimeofday");
    const int failed = real(now, zone);
    if (failed == 0) now->tv_sec += clock_error();
    return failed;
}

int close(int file) {
    const auto path = find_path(file);
    if (!watches(path)) return static_cast<int>(::syscall(SYS_close, file));
    const auto what = decide("close", path);
    if (what.die_before) die();
    record("close", 0, path);
    const auto closed = static_cast<int>(::syscall(SYS_close, file));
    if (what.die_after) die();
    if (what.error == 0) return closed;
    errno = what.error;  // the descriptor is gone all the same, as Linux does it
    return -1;
}
}

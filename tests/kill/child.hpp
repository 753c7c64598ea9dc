#pragma once
// A process of the program that the test started and may kill.
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace rldp::testing {

/// A number in the environment.
inline std::int64_t setting(const char* name, std::int64_t otherwise) {
    const char* text = std::getenv(name);
    return text ? std::atoll(text) : otherwise;
}

class child {
  public:
    /// Runs the built program on one thread per pool; what it prints is appended to the file `output`.
    child(const std::vector<std::string>& arguments, const std::filesystem::path& output);
    ~child();
    child(const child&) = delete;
    child& operator=(const child&) = delete;

    pid_t id() const { return id_; }
    /// Whether it ends before so much time has passed.
    bool ends_within(std::chrono::microseconds time) const;
    /// Halts it where it is; false if it ended first.
    bool stop();
    void go_on() const;
    /// SIGKILL. False if it had ended by itself.
    bool kill();
    /// Its exit status, or 128 + the signal that ended it.
    int wait();

  private:
    void take(int state);

    pid_t id_ = -1;
    int alive_ = -1;  ///< reads end of file once the process is gone
    int status_ = -1;
};

}  // namespace rldp::testing

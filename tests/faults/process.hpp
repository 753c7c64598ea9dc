#pragma once
// A process of the program under faults: its limits, its streams, the preloaded library's orders.
#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/faults/files.hpp"

namespace rldp::testing {

using std::chrono::microseconds;

/// Where an output stream goes.
enum class stream { kept, closed, full_device, broken_pipe };

struct command {
    std::vector<std::string> arguments;
    std::map<std::string, std::string> environment = {};
    std::map<int, rlim_t> limits = {};  ///< by RLIMIT_…
    stream out = stream::kept, err = stream::kept;
    path group = {};  ///< memory_group::door(); empty: none
};

struct answer {
    int status = 0;  ///< of the exit, or 128 + the signal that ended it
    bool hung = false;
    std::string out, err;
};

/// Makes the calling process the program, with such arguments and such an environment. Does not return.
using beginning = std::function<void(char** argv, char** envp)>;

/// The program is loaded from its file.
beginning executed(const path& program);

class process {
  public:
    /// Starts it; its streams are kept in `folder`, which no other process uses meanwhile.
    process(const beginning& program, const command& what, const path& folder);
    ~process();
    process(const process&) = delete;
    process& operator=(const process&) = delete;

    bool ends_within(microseconds time) const;
    void signal(int number) const;
    /// The processes that it started itself and that still are.
    std::vector<pid_t> children() const;
    /// Its end. A process that takes longer than any may is killed, and has hung.
    answer wait();

  private:
    path folder_;
    pid_t id_ = -1;
    int handle_ = -1;
    bool over_ = false;
};

}  // namespace rldp::testing

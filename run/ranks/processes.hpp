#pragma once
// The processes of a run: which of them this one is, and how --workers begins them on this machine.
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "privacy/keys/cluster_secret.hpp"
#include "run/ranks/link.hpp"

namespace rldp::ranks {

// Place. Which of how many processes this one is, as the program that began them says it in the environment.

struct place {
    std::size_t rank = 0, ranks = 1;  ///< 0 … ranks − 1
    std::size_t local_rank = 0;       ///< among those of this machine: which device is its own
    pid_t launcher = 0;               ///< rldp run --workers, which connected its ranks before it began them; or none
    std::string host;                 ///< where rank 0 is found
    std::uint16_t port = 0;
    bool store_elsewhere = false;        ///< torchrun's own agent answers at that port
    std::string round;                   ///< told apart by it are the attempts of a launcher that starts again
    std::chrono::seconds patience{600};  ///< in which all must come together: a cluster's nodes don't start at once
};

/// What --workers tells its ranks besides: its process.
inline constexpr const char* launcher_variable = "RLDP_LAUNCHER";

/// From RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT (torchrun, Kubernetes), or Slurm's or Open MPI's own
/// variables beside MASTER_ADDR and MASTER_PORT, or --workers' own; nothing where a run is alone. `variable` looks one
/// up. Errors: bad_input, naming the variable, for one that is missing or no number in range.
std::optional<place> place_from(const std::function<const char*(const char*)>& variable);

/// The CUDA device of a rank, as CUDA_VISIBLE_DEVICES is to name it before CUDA starts: of the list that is `visible`
/// (null: all of the machine's) the one with the rank's local number. A list of one is the launcher's own choice.
std::string device_of_rank(const char* visible, std::size_t local_rank);

// Local ranks. rldp run --workers N: the ranks of a run as processes of this machine, begun again where one dies.

struct local_ranks {
    std::size_t ranks = 1;
    bool meshed = false;                            ///< they may share a base (model.shard): any two are connected
    std::vector<std::string> arguments = {};        ///< of rldp-torch, the program's name first
    std::vector<std::string> again_arguments = {};  ///< the same where an attempt has failed
    int attempts = 4;                               ///< the first, and three restarts
    std::string again = {};                         ///< what a user does to go on, where no attempt is left
    std::function<void(const std::string&)> say = {};
};

/// Starts them connected with each other, with a secret that exists in memory alone, waits for them, and answers rank
/// 0's exit status. Processors are shared out unless OMP_NUM_THREADS is set. A signal is passed on to rank 0, which
/// ends the run resumable. Errors: failed where no process can be started.
int run_local_ranks(const local_ranks& how);

/// In a process that run_local_ranks started, once: the secret, and its links. It ends with its launcher. Errors:
/// failed.
privacy::cluster_secret inherited_secret(const place& where);
std::vector<link> inherited_links(const place& where);
/// The same where they were meshed.
mesh inherited_mesh(const place& where);

}  // namespace rldp::ranks

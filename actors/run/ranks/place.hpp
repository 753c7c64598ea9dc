#pragma once
// Which of how many processes this one is, as the program that began them says it in the environment.
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace rldp::ranks {

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

}  // namespace rldp::ranks

#pragma once
// rldp run --workers N: the ranks of a run as processes of this machine, begun again where one dies.
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "actors/run/ranks/link.hpp"
#include "actors/run/ranks/place.hpp"
#include "privacy/keys/cluster_secret.hpp"

namespace rldp::ranks {

struct local_ranks {
    std::size_t ranks = 1;
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

}  // namespace rldp::ranks

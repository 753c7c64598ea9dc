#pragma once
// How ranks that were begun apart find each other: rank 0 listens until all have come, and lets nobody in who does not
// know the secret.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "privacy/keys/cluster_secret.hpp"
#include "run/ranks/link.hpp"
#include "run/ranks/processes.hpp"

namespace rldp::ranks {

/// On rank 0: the links to ranks 1 … ranks − 1; afterwards nothing listens any more. A stranger may hold one of
/// `most_strangers` connections for `politeness` and say as much as a knock is long; where more come, the oldest goes.
/// Errors: bad_input where the port is taken, or a rank counts the ranks otherwise or comes twice; failed where not all
/// come within place.patience.
std::vector<link> meet_all(const place& where, const privacy::cluster_secret& secret);

/// On another rank: the link to rank 0, looked for until place.patience is over. Errors: bad_input where rank 0 has
/// another secret or number of ranks, or another process is this rank; failed where it is not found.
link meet_first(const place& where, const privacy::cluster_secret& secret);

/// Where a rank lets the others in who ask for its layers.
struct doorstep {
    std::string host;
    std::uint16_t port = 0;
};
/// Tells all ranks this one's port; answers their doorsteps, in their order.
using announcement = std::function<std::vector<doorstep>(std::uint16_t port)>;

/// On every rank, once all have met: the streams between any two of them, for layers. Errors: as meet_all and
/// meet_first, whose limits hold at each door.
mesh meet_each(const place& where, const privacy::cluster_secret& secret, const announcement& tell);

inline constexpr std::size_t most_strangers = 64;
inline constexpr std::chrono::seconds politeness{10};

/// The lines that both ends say.
std::string miscount_line(std::size_t rank, std::size_t its, std::size_t ours);
std::string twice_line(std::size_t rank);

}  // namespace rldp::ranks

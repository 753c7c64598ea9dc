#include "actors/run/ranks/place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <sstream>
#include <vector>

#include "config/base/error.hpp"

namespace rldp::ranks {

namespace {

/// What a launcher calls them.
struct names {
    const char *rank, *ranks, *local;
};
constexpr std::array launchers = {names{"RANK", "WORLD_SIZE", "LOCAL_RANK"},
                                  names{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
                                  names{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"}};

std::uint64_t number(const char* name, const char* text, std::uint64_t most) {
    std::uint64_t value = 0;
    const auto* const end = text + std::strlen(text);
    const auto [at, wrong] = std::from_chars(text, end, value);
    refuse_unless(wrong == std::errc{} && at == end && value <= most,
                  fmt::format("{}: '{}' is no whole number from 0 to {}", name, text, most));
    return value;
}

}  // namespace

std::optional<place> place_from(const std::function<const char*(const char*)>& variable) {
    const auto found = std::find_if(launchers.begin(), launchers.end(), [&](const names& each) {
        return variable(each.rank) != nullptr && variable(each.ranks) != nullptr;
    });
    if (found == launchers.end()) return std::nullopt;
    constexpr std::uint64_t most_ranks = 65536;
    place out;
    out.ranks = number(found->ranks, variable(found->ranks), most_ranks);
    if (out.ranks <= 1) return std::nullopt;
    out.rank = number(found->rank, variable(found->rank), out.ranks - 1);
    if (const char* local = variable(found->local)) out.local_rank = number(found->local, local, most_ranks);
    if (const char* launcher = variable(launcher_variable)) {
        out.launcher = static_cast<pid_t>(number(launcher_variable, launcher, std::numeric_limits<pid_t>::max()));
        return out;
    }
    const char *host = variable("MASTER_ADDR"), *port = variable("MASTER_PORT");
    refuse_unless(
        host != nullptr && *host != 0 && port != nullptr,
        fmt::format("{} says that this is rank {} of {}, but MASTER_ADDR and MASTER_PORT don't say where rank "
                    "0 is; set both",
                    found->rank, out.rank, out.ranks));
    out.host = host;
    out.port = static_cast<std::uint16_t>(number("MASTER_PORT", port, std::numeric_limits<std::uint16_t>::max()));
    const char* agent = variable("TORCHELASTIC_USE_AGENT_STORE");
    out.store_elsewhere = agent != nullptr && std::strcmp(agent, "True") == 0;
    if (const char* again = variable("TORCHELASTIC_RESTART_COUNT")) out.round = again;
    return out;
}

std::string device_of_rank(const char* visible, std::size_t local_rank) {
    if (visible == nullptr) return std::to_string(local_rank);
    std::vector<std::string> listed;
    std::istringstream list(visible);
    for (std::string one; std::getline(list, one, ',');) listed.push_back(one);
    if (listed.size() == 1) return listed.front();
    refuse_unless(
        local_rank < listed.size(),
        fmt::format("CUDA_VISIBLE_DEVICES: '{}' names {} devices, and this is rank {} of its machine, counted from 0; "
                    "start as many ranks as there are devices",
                    visible, listed.size(), local_rank));
    return listed[local_rank];
}

}  // namespace rldp::ranks

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/system.hpp"
#include "privacy/keys/cluster_secret.hpp"
#include "run/ranks/processes.hpp"
#include "run/ranks/wire.hpp"

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

namespace {

/// What a rank inherits besides the three standard streams: the secret's pipe, and from there on both streams of each
/// of its links.
constexpr int secret_descriptor = 3, first_of_links = 4;

[[noreturn]] void fail(const char* what) {
    throw error(errc::failed, fmt::format("--workers: {}: {}", what, std::strerror(errno)));
}

struct process {
    pid_t id = -1;
    int complaints = -1;  ///< what ranks other than the first wrote to standard error
    int status = 0;
    bool over = false;
};

std::atomic<pid_t> first_rank = -1;
std::atomic<int> signals = 0;

void pass_on(int) {
    ++signals;
    if (const pid_t rank = first_rank; rank > 0) ::kill(rank, SIGTERM);
}

/// Their environment: this one's, and who they are.
std::vector<std::string> make_environment(std::size_t rank, std::size_t ranks) {
    std::map<std::string, std::string> own = {{"RANK", std::to_string(rank)},
                                              {"WORLD_SIZE", std::to_string(ranks)},
                                              {"LOCAL_RANK", std::to_string(rank)},
                                              {launcher_variable, std::to_string(::getpid())}};
    if (std::getenv("OMP_NUM_THREADS") == nullptr)
        own["OMP_NUM_THREADS"] = std::to_string(std::max<std::size_t>(1, std::thread::hardware_concurrency() / ranks));
    return environment_with(own);
}

/// Out of the way of the numbers that a rank is given its own under.
descriptor above(int least, int taken) {
    const descriptor original(taken);
    descriptor out(::fcntl(taken, F_DUPFD_CLOEXEC, least));
    if (!out) fail("no descriptor is left to connect the ranks");
    return out;
}

/// What each rank inherits, by rank. Nothing listens anywhere.
struct connections {
    std::vector<std::vector<link>> links;
    std::vector<mesh> meshes;  ///< none unless they are meshed
};

/// So many descriptors, as far as they may be had.
void allow_descriptors(std::size_t count) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = std::max<rlim_t>(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, count));
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// Links between rank 0 and all others, and where they are meshed two streams between any two.
connections connected(std::size_t ranks, bool meshed) {
    const int least = first_of_links + (meshed ? 4 : 2) * static_cast<int>(ranks);
    constexpr std::size_t spare = 256;  // for what else the program opens
    if (meshed) allow_descriptors(static_cast<std::size_t>(least) + 2 * ranks * (ranks + 1) + spare);
    const auto pair = [&] {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("no connection between ranks");
        auto one = above(least, ends[0]);
        return std::pair(std::move(one), above(least, ends[1]));
    };
    connections out;
    out.links.resize(ranks);
    for (std::size_t rank = 1; rank < ranks; ++rank) {
        auto words = pair(), beats = pair();
        out.links[0].push_back({std::move(words.first), std::move(beats.first)});
        out.links[rank].push_back({std::move(words.second), std::move(beats.second)});
    }
    if (!meshed) return out;
    out.meshes.resize(ranks);
    for (auto& each : out.meshes) {
        each.asking.resize(ranks);
        each.asked.resize(ranks);
    }
    for (std::size_t asks = 0; asks < ranks; ++asks)
        for (std::size_t answers = 0; answers < ranks; ++answers) {
            if (asks == answers) continue;
            auto ends = pair();
            out.meshes[asks].asking[answers] = std::move(ends.first);
            out.meshes[answers].asked[asks] = std::move(ends.second);
        }
    return out;
}

process start(const std::vector<std::string>& arguments, std::size_t rank, std::size_t ranks,
              const connections& between, const privacy::cluster_secret& secret) {
    process out;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail("no pipe for the secret");
    secret.share(ends[1]);  // 32 bytes: a pipe holds them
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[0], secret_descriptor);
    if (rank > 0) {
        out.complaints = ::memfd_create("rldp rank", MFD_CLOEXEC);
        if (out.complaints < 0) fail("no memory for what ranks say");
        posix_spawn_file_actions_adddup2(&files, out.complaints, STDERR_FILENO);
    }
    int number = first_of_links;
    for (const auto& each : between.links[rank])
        for (const auto* const stream : {&each.words, &each.beats})
            posix_spawn_file_actions_adddup2(&files, stream->get(), number++);
    if (!between.meshes.empty())
        for (const auto* const streams : {&between.meshes[rank].asking, &between.meshes[rank].asked})
            for (const auto& each : *streams)
                if (each) posix_spawn_file_actions_adddup2(&files, each.get(), number++);
    // A group of its own: a terminal's Ctrl-C reaches this process alone, which passes it on to rank 0.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    auto words = arguments;
    auto variables = make_environment(rank, ranks);
    const int wrong = ::posix_spawn(&out.id, "/proc/self/exe", &files, &attributes, pointers_to(words).data(),
                                    pointers_to(variables).data());
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    ::close(ends[0]);
    ::close(ends[1]);
    errno = wrong;
    if (wrong != 0) fail("a rank can't be started");
    return out;
}

/// As a shell tells it.
int to_exit_status(int waited) {
    return WIFEXITED(waited) ? WEXITSTATUS(waited) : 128 + WTERMSIG(waited);
}

/// Seconds in which ranks hear by themselves that another is gone.
constexpr unsigned grace = 10;
std::atomic<bool> late = false;

/// Until all are over. Where one has failed, or rank 0 has ended the run, the others have so long to follow.
void wait_for_all(std::vector<process>& all) {
    late = false;
    for (std::size_t left = all.size(); left > 0;) {
        int waited = 0;
        const pid_t gone = ::waitpid(-1, &waited, 0);
        if (gone < 0 && errno == EINTR) {
            if (signals > 1 || late)  // a second signal: at once
                for (const auto& each : all)
                    if (!each.over) ::kill(each.id, SIGKILL);
            continue;
        }
        const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.id == gone; });
        if (found == all.end()) continue;
        found->over = true;
        found->status = to_exit_status(waited);
        --left;
        if (found->status != 0 || found == all.begin()) ::alarm(grace);
    }
    ::alarm(0);
}

std::string read_complaint(const process& rank) {
    std::string text(4096, '\0');
    const auto length = ::pread(rank.complaints, text.data(), text.size(), 0);
    text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return text;
}

/// One attempt; answers rank 0's status, or that of the rank whose death ended it.
int attempt(const local_ranks& how, const std::vector<std::string>& arguments) {
    const auto secret = privacy::cluster_secret::from_system();
    std::vector<process> all;
    {
        const auto between = connected(how.ranks, how.meshed);
        for (std::size_t rank = 0; rank < how.ranks; ++rank)
            all.push_back(start(arguments, rank, how.ranks, between, secret));
    }  // each end now belongs to one rank, whose death closes it
    first_rank = all.front().id;
    if (signals > 0) ::kill(first_rank, SIGTERM);
    wait_for_all(all);
    first_rank = -1;
    const int status = all.front().status;
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
        // Where rank 0 has refused something, all have. Where it has heard of another's end, that rank knows why.
        const auto& each = all[rank];
        const auto complaint = read_complaint(each);
        const bool unsaid = status == 1 || status >= 128;
        if (unsaid && each.status != 0 && complaint.find(gone) == std::string::npos) how.say(complaint);
        if (each.status >= 128 && status == 1)
            how.say(fmt::format("rldp: rank {} was ended by signal {}\n", rank, each.status - 128));
        ::close(each.complaints);
    }
    return status;
}

std::string describe_cause(int status) {
    return status < 128 ? std::string() : fmt::format("rank 0 was ended by signal {}; ", status - 128);
}

}  // namespace

int run_local_ranks(const local_ranks& how) {
    struct sigaction action {};
    action.sa_handler = pass_on;
    for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
    action.sa_handler = [](int) { late = true; };
    ::sigaction(SIGALRM, &action, nullptr);
    int status = attempt(how, how.arguments);
    const auto may_go_on = [&] { return (status == 1 || status >= 128) && status != 130 && signals == 0; };
    for (int tried = 1; tried < how.attempts && may_go_on(); ++tried) {
        how.say(fmt::format("rldp: {}restart {} of {}\n", describe_cause(status), tried, how.attempts - 1));
        status = attempt(how, how.again_arguments);
    }
    if (status < 128 || status == 130) return status;
    how.say(fmt::format("rldp: {}{}\n", describe_cause(status), how.again));
    return static_cast<int>(errc::failed);
}

privacy::cluster_secret inherited_secret(const place& where) {
    end_with_parent(where.launcher);  // the run ends in order where its launcher is gone
    return privacy::cluster_secret::receive(secret_descriptor);
}

namespace {

int count_links(const place& where) {
    return where.rank == 0 ? static_cast<int>(where.ranks) - 1 : 1;
}

}  // namespace

std::vector<link> inherited_links(const place& where) {
    const int count = count_links(where);
    std::vector<link> out;
    for (int at = first_of_links; at < first_of_links + 2 * count; at += 2) {
        out.push_back({descriptor(at), descriptor(at + 1)});
        for (const int each : {at, at + 1}) ::fcntl(each, F_SETFD, FD_CLOEXEC);
    }
    // A mesh may come behind them, and may not be asked for: programs that a rank starts inherit nothing of it.
    const int behind = first_of_links + 2 * count, most = 2 * (static_cast<int>(where.ranks) - 1);
    for (int at = behind; at < behind + most; ++at) ::fcntl(at, F_SETFD, FD_CLOEXEC);
    return out;
}

mesh inherited_mesh(const place& where) {
    int at = first_of_links + 2 * count_links(where);
    mesh out;
    for (auto* const streams : {&out.asking, &out.asked})
        for (std::size_t rank = 0; rank < where.ranks; ++rank) {
            streams->emplace_back();
            if (rank == where.rank) continue;
            ::fcntl(at, F_SETFD, FD_CLOEXEC);
            streams->back() = descriptor(at++);
        }
    return out;
}

}  // namespace rldp::ranks

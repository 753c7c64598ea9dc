#include "run/test_hooks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "privacy/spending/ledger.hpp"

namespace rldp::actors::test_hooks {

namespace {

/// A path in the environment, or nothing. For "%" it has the name of the run's directory: runs that one program started
/// have files of their own.
std::optional<std::string> find_path(const char* variable) {
    const char* value = std::getenv(variable);
    if (!value) return std::nullopt;
    std::string out = value;
    const auto at = out.find('%');
    if (at == std::string::npos) return out;
    std::ifstream words("/proc/self/cmdline");
    for (std::string last, word; std::getline(words, word, '\0'); last = word)
        if (last == "--out" || last == "--resume")
            return out.replace(at, 1, std::filesystem::path(word).filename().string());
    return out;
}

/// Of the files that runs exchange.
privacy::file_seal common_seal() {
    return privacy::file_seal(privacy::run_key::insecure_from_seed(0));
}

/// The other run's releases by seq.
std::map<std::uint64_t, privacy::release> recorded(const std::string& path) {
    const auto ledger = find_path("RLDP_REPLAY_LEDGER");
    if (!ledger) throw error(errc::failed, "RLDP_REPLAY_RELEASES needs RLDP_REPLAY_LEDGER");
    std::map<std::uint64_t, privacy::release> out;
    for (auto& release : privacy::release_log::read(path, common_seal(), privacy::read_ledger(*ledger))) {
        const auto seq = release.charged->seq;
        out.emplace(seq, std::move(release));
    }
    return out;
}

/// The line of the other run's file that tells of this look.
std::optional<nlohmann::json> recorded_look(const std::string& path, std::int64_t look) {
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);)
        if (auto one = nlohmann::json::parse(line); one.at("look") == look) return one;
    return std::nullopt;
}

bool halts(const std::string& how, std::uint64_t seq) {
    const char* wanted = std::getenv("RLDP_HALT");
    return wanted && wanted == fmt::format("{} {}", how, seq);
}

void die() {
    ::kill(::getpid(), SIGKILL);
}

std::promise<void>& stop_is_known() {
    static std::promise<void> promise;
    return promise;
}

}  // namespace

std::string data_hmac(std::string own) {
    const auto ledger = find_path("RLDP_REPLAY_LEDGER");
    return ledger ? privacy::read_ledger(*ledger).header.data_hmac : own;
}

void exchange(privacy::release& own) {
    if (const auto path = find_path("RLDP_DUMP_RELEASES")) privacy::release_log(*path, common_seal()).append(own);
    if (const auto path = find_path("RLDP_REPLAY_RELEASES")) {
        static const auto others = recorded(*path);
        const auto found = others.find(own.charged->seq);
        if (found == others.end())
            throw error(errc::failed, fmt::format("{}: release {} is not there", *path, own.charged->seq));
        own.gradient = found->second.gradient;
        own.statistics = found->second.statistics;
    }
    if (halts("lose", own.charged->seq)) die();
}

void exchange(privacy::look_release& own) {
    const auto look = own.charged->look;
    if (const auto path = find_path("RLDP_DUMP_LOOKS"))
        std::ofstream(*path, std::ios::app) << privacy::to_json(own) << '\n';
    if (const auto path = find_path("RLDP_REPLAY_LOOKS")) {
        const auto other = recorded_look(*path, look);
        if (!other) throw error(errc::failed, fmt::format("{}: look {} is not there", *path, look));
        other->at("numbers").get_to(own.numbers);
    }
    if (halts("lose-look", static_cast<std::uint64_t>(look))) die();
}

void looked(std::int64_t look) {
    if (halts("kill-look", static_cast<std::uint64_t>(look))) die();
}

void logged(std::uint64_t seq) {
    if (halts("kill", seq)) die();
    if (!halts("interrupt", seq)) return;
    std::raise(SIGINT);
    // The release waits until the stop is on its way to the trainer: the run then ends at this step, whatever the
    // clock.
    stop_is_known().get_future().wait();
}

void seen(const std::string& state, const std::string& all) {
    if (const char* path = std::getenv("RLDP_VIEWS")) std::ofstream(path, std::ios::app) << all << '\n';
    static bool known = false;  // one hub, one thread
    if (state == "stopping" && !std::exchange(known, true)) stop_is_known().set_value();
}

}  // namespace rldp::actors::test_hooks

#include "tests/strangers/sockets.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace rldp::testing {

namespace {

namespace fs = std::filesystem;

/// Of the file /proc/PROCESS/fd/N: the number N's socket has in /proc/net, where it is one.
std::set<std::string> list_sockets(pid_t process) {
    std::set<std::string> out;
    std::error_code gone;
    for (fs::directory_iterator each(fmt::format("/proc/{}/fd", process), gone), end; !gone && each != end;
         each.increment(gone)) {
        std::error_code closed;
        const auto target = fs::read_symlink(each->path(), closed).string();
        if (target.starts_with("socket:[")) out.insert(target.substr(8, target.size() - 9));
    }
    return out;
}

/// /proc/net writes an address as words in the machine's own order of bytes.
std::string address_from(const std::string& hex) {
    std::array<std::uint32_t, 4> words{};
    for (std::size_t i = 0; i < hex.size() / 8; ++i)
        words[i] = static_cast<std::uint32_t>(std::stoul(hex.substr(8 * i, 8), nullptr, 16));
    std::array<char, INET6_ADDRSTRLEN> text{};
    ::inet_ntop(hex.size() == 8 ? AF_INET : AF_INET6, words.data(), text.data(), text.size());
    return text.data();
}

void add_internet(const std::string& table, const std::string& state, const std::set<std::string>& ours,
                  std::set<listening>& out) {
    std::ifstream file("/proc/net/" + table);
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
        std::istringstream words(line);
        std::vector<std::string> word;
        for (std::string one; words >> one;) word.push_back(one);
        if (word.size() < 10 || word[3] != state || !ours.contains(word[9])) continue;
        const auto colon = word[1].find(':');
        out.insert({address_from(word[1].substr(0, colon)),
                    static_cast<std::uint16_t>(std::stoul(word[1].substr(colon + 1), nullptr, 16))});
    }
}

void add_unix(const std::set<std::string>& ours, std::set<listening>& out) {
    std::ifstream file("/proc/net/unix");
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
        std::istringstream words(line);
        std::string number, references, protocol, flags, type, state, inode;
        words >> number >> references >> protocol >> flags >> type >> state >> inode;
        constexpr unsigned long accepts = 0x10000;
        if ((std::stoul(flags, nullptr, 16) & accepts) != 0 && ours.contains(inode)) out.insert({"unix", 0});
    }
}

}  // namespace

std::vector<pid_t> list_process_tree(pid_t root) {
    std::vector<pid_t> out{root};
    for (std::size_t i = 0; i < out.size(); ++i) {
        std::error_code gone;
        for (fs::directory_iterator each(fmt::format("/proc/{}/task", out[i]), gone), end; !gone && each != end;
             each.increment(gone)) {
            std::ifstream children(each->path() / "children");
            for (pid_t id = 0; children >> id;) out.push_back(id);
        }
    }
    return out;
}

std::set<listening> listening_sockets(pid_t root) {
    std::set<std::string> ours;
    for (const auto process : list_process_tree(root)) ours.merge(list_sockets(process));
    std::set<listening> out;
    for (const std::string version : {"", "6"}) {
        add_internet("tcp" + version, "0A", ours, out);
        add_internet("udp" + version, "07", ours, out);
    }
    add_unix(ours, out);
    return out;
}

void note_memory(pid_t root, std::map<pid_t, std::int64_t>& peaks) {
    for (const auto process : list_process_tree(root)) {
        std::ifstream file(fmt::format("/proc/{}/status", process));
        for (std::string line; std::getline(file, line);)
            if (line.starts_with("VmHWM:"))
                peaks[process] = std::max(peaks[process], std::int64_t{std::stoll(line.substr(6))});
    }
}

}  // namespace rldp::testing

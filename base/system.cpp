#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <new>
#include <optional>
#include <regex>
#include <string_view>

#include "base/system.hpp"

namespace rldp {

namespace {

/// Bytes that a line of /proc/meminfo gives in kB; absent where it has no such line.
std::optional<std::int64_t> meminfo(std::string_view name) {
    std::ifstream file("/proc/meminfo");
    std::string word;
    std::int64_t number = 0;
    while (file >> word >> number) {
        if (word == name) return number * 1024;
        file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return std::nullopt;
}

/// What was asked for when memory ran out, "more" where that is not known, and of what; absent for any other failure.
std::optional<std::string> shortage(const std::exception& thrown) {
    const auto machine = [](const std::string& asked) {
        const auto left = meminfo("MemAvailable:");
        return fmt::format("{} was asked for{}, of this machine's {}", asked,
                           left ? fmt::format(" where {} are free", memory_text(*left)) : "",
                           memory_text(memory_there()));
    };
    if (dynamic_cast<const std::bad_alloc*>(&thrown)) return machine("more");
    // LibTorch's processor and CUDA allocators have no type of their own in every version.
    static const std::regex cpu("DefaultCPUAllocator: .*you tried to allocate ([0-9]{1,18}) bytes"),
        cuda("CUDA out of memory|CUDA error: out of memory|_STATUS_ALLOC_FAILED"),
        asked("Tried to allocate ([0-9.]+ [KMG]iB)"),
        room("([0-9.]+ [KMG]iB) total capacity|total capacity of ([0-9.]+ [KMG]iB)"),
        free("([0-9.]+ ([KMG]iB|bytes)) (is )?free"), other("Process [0-9]+ has ([0-9.]+ [KMG]iB)");
    const std::string said(thrown.what());
    std::smatch found;
    if (std::regex_search(said, found, cpu)) return machine(memory_text(std::stoll(found[1])));
    if (!std::regex_search(said, found, cuda)) return std::nullopt;
    auto out = (std::regex_search(said, found, asked) ? found[1].str() : "more") + " was asked for on the CUDA device";
    if (std::regex_search(said, found, free)) out += " where " + found[1].str() + " are free";
    if (std::regex_search(said, found, room)) out += ", of " + (found[1].matched ? found[1] : found[2]).str();
    if (std::regex_search(said, found, other)) out += " (another program holds " + found[1].str() + ": nvidia-smi)";
    return out;
}

}  // namespace

std::string machine_name() {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
}

std::int64_t memory_there() {
    auto out = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
    // Of this process' group, where there is a limit ("max": none); absent outside of version 2.
    std::ifstream group("/sys/fs/cgroup/memory.max");
    if (std::int64_t limit = 0; group >> limit) out = std::min(out, limit);
    return out;
}

std::string memory_text(std::int64_t bytes) {
    constexpr double mebi = 1 << 20;
    const auto amount = static_cast<double>(bytes) / mebi;
    return amount < 100 ? fmt::format("{:.1f} MiB", amount) : fmt::format("{:.1f} GiB", amount / 1024);
}

std::string time_text(double seconds) {
    constexpr double minute = 60, hour = 3600, day = 86'400;
    const auto round = [](double amount) {
        return amount < 9.95 ? fmt::format("{:.2g}", amount) : fmt::format("{:.0f}", amount);
    };
    return seconds < 100            ? round(seconds) + " s"
           : seconds < 100 * minute ? round(seconds / minute) + " min"
           : seconds < 2 * day      ? round(seconds / hour) + " h"
                                    : round(seconds / day) + " days";
}

bool is_shortage(const std::exception& thrown) {
    return shortage(thrown).has_value();
}

std::string describe_exception(const std::exception& thrown) {
    if (const auto short_of = shortage(thrown))
        return fmt::format(
            "not enough memory: {}; a smaller train.micro_batch or data.max_tokens, model.checkpoint_activations and "
            "bfloat16 take less (rldp check estimates how much), and so does a limit that is raised (ulimit -v)",
            *short_of);
    if (const auto* of = dynamic_cast<const std::filesystem::filesystem_error*>(&thrown))
        return fmt::format("{}: {}", of->path1().string(), of->code().message());
    const std::string_view all = thrown.what();
    std::string line(all.substr(0, all.find('\n')));
    if (!line.starts_with("CUDA error")) return line;
    return line + "; the CUDA device was lost or failed (dmesg and nvidia-smi say more); a run can be resumed";
}

namespace {

std::tm moment() {
    auto seconds = std::time(nullptr);
    if (const char* given = std::getenv("SOURCE_DATE_EPOCH")) {
        const std::string_view text(given);
        std::from_chars(text.data(), text.data() + text.size(), seconds);
    }
    std::tm out{};
    ::gmtime_r(&seconds, &out);
    return out;
}

}  // namespace

std::string today() {
    return fmt::format("{:%Y-%m-%d}", moment());
}

std::int64_t parse_date(const std::string& date) {
    std::tm parts{};
    if (::strptime(date.c_str(), "%Y-%m-%d", &parts) == nullptr) return 0;
    return static_cast<std::int64_t>(::timegm(&parts));
}

std::string now() {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", moment());
}

}  // namespace rldp

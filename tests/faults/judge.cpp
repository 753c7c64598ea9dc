#include "tests/faults/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <regex>

namespace rldp::testing {

namespace {

/// What is neither a warning nor what a run that isn't quiet shows of its progress.
std::vector<std::string> remarkable_lines(const std::string& err) {
    static const std::regex shown(R"(^$|^warning: |^N = \d+ units, | step \d+/\d+  loss )");
    auto all = split_lines(err.ends_with('\n') || err.empty() ? err : err + "\n");
    std::erase_if(all, [](const std::string& line) { return std::regex_search(line, shown); });
    return all;
}

/// A path, a key of the configuration, an option, or memory, which has no name.
bool names_something(const std::string& line) {
    static const std::regex name(R"(/|\b[a-z]+\.[a-z_]+\b|--[a-z]+|standard output|memory|descriptors|open files)");
    return std::regex_search(line, name);
}

std::string shortened(const std::string& line) {
    static const std::regex scratch(R"(/[^ :]*/(below|aside)/)");
    return std::regex_replace(line, scratch, "").substr(0, 110);
}

}  // namespace

std::string error_line(const answer& said) {
    const auto lines = remarkable_lines(said.err);
    return lines.empty() ? std::string() : shortened(lines.front());
}

std::string complaint(const answer& said, const circumstances& how) {
    if (said.hung) return "hangs: not over after 60 s";
    if (how.killed && said.status == 128 + SIGKILL) return {};
    const auto lines = remarkable_lines(said.err);
    const auto first = error_line(said);
    const bool unloaded = said.err.find("error while loading shared libraries") != std::string::npos;
    if (how.may_not_load && said.status == 127 && unloaded) return {};
    if (said.status >= 128 && said.status != 130)
        return fmt::format("ended by signal {}: {}", said.status - 128, first);
    static const std::vector<int> documented{0, 1, 2, 3, 4, 130};
    if (std::find(documented.begin(), documented.end(), said.status) == documented.end())
        return fmt::format("status {} is not documented: {}", said.status, first);
    if (!how.heard) return {};
    if (lines.size() > 1) return fmt::format("{} lines of errors: {} | {}", lines.size(), first, shortened(lines[1]));
    if (said.status != 1 && said.status != 2 && said.status != 4) return {};
    if (lines.empty()) return fmt::format("status {} without a word", said.status);
    if (!first.starts_with("rldp: ")) return "an error line that isn't the program's: " + first;
    if (!names_something(lines.front())) return "the error names nothing: " + first;
    return {};
}

}  // namespace rldp::testing

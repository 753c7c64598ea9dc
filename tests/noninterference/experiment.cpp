#include "tests/noninterference/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "config/base/files.hpp"
#include "tests/noninterference/program.hpp"

namespace rldp::testing {

namespace {

/// Without the lines of the progress bar: which steps they show is up to the clock, and what they show is telemetry.
std::string without_progress(const std::string& text) {
    static const std::regex progress(R"( step \d+/\d+  loss )");
    std::istringstream lines(text);
    std::string out;
    for (std::string line; std::getline(lines, line);)
        if (!std::regex_search(line, progress)) out += line + "\n";
    return out;
}

std::string beginning(const std::string& text, std::size_t at) {
    const auto line = text.rfind('\n', at == 0 ? 0 : at - 1);
    const auto begin = std::max(line == std::string::npos ? 0 : line + 1, at < 60 ? 0 : at - 60);
    return text.substr(begin, std::min(text.find('\n', at), at + 60) - begin);
}

std::string difference(const std::string& a, const std::string& b) {
    const auto at = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
    return fmt::format("\"{}\" became \"{}\"", beginning(a, static_cast<std::size_t>(at)),
                       beginning(b, static_cast<std::size_t>(at)));
}

}  // namespace

std::vector<std::string> differences(const public_side& a, const public_side& b) {
    std::set<std::string> names;
    for (const auto* side : {&a, &b})
        for (const auto& [name, bytes] : *side) names.insert(name);
    std::vector<std::string> out;
    for (const auto& name : names) {
        const auto in_a = a.find(name), in_b = b.find(name);
        if (in_a == a.end() || in_b == b.end())
            out.push_back(fmt::format("{}: only on {}", name, in_a == a.end() ? "B" : "A"));
        else if (in_a->second != in_b->second)
            out.push_back(fmt::format("{}: {}", name, difference(in_a->second, in_b->second)));
    }
    return out;
}

experiment::experiment(std::filesystem::path folder, scenario how, const table& a)
    : folder_(std::move(folder)), how_(std::move(how)) {
    std::filesystem::create_directories(folder_);
    auto config = how_.config;
    config["data"]["path"] = (folder_ / how_.how.file("table")).string();
    if (how_.how.extension == "csv") {
        write_file(folder_ / "template.json", plain_template);
        config["data"]["template"] = (folder_ / "template.json").string();
    }
    if (how_.how.grouped) config["privacy"]["unit"] = {{"group", "patient"}};
    write_file(folder_ / "config.json", config.dump(2));
    first_ = run_on(a, "a", {{"RLDP_DUMP_RELEASES", (folder_ / "releases").string()}});
}

public_side experiment::run_on(const table& rows, const std::string& name,
                               std::map<std::string, std::string> environment) {
    write_table(folder_ / how_.how.file("table"), rows, how_.how);
    const auto directory = folder_ / name;
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    public_side out;
    const auto say = [&](const std::string& what, std::vector<std::string> arguments) {
        const auto telemetry = directory / "telemetry";
        std::filesystem::remove(telemetry);
        environment["RLDP_TELEMETRY"] = telemetry.string();
        const auto said = rldp_says({std::move(arguments), directory, environment});
        out[what + " status"] = fmt::format("{}", said.status);
        out[what + " stdout"] = said.out;
        out[what + " stderr"] = without_progress(said.err);
        if (said.status > 130 || !std::filesystem::exists(telemetry)) return;  // killed: the hub may have been behind
        out[what + " telemetry"] = read_file(telemetry);
    };
    const auto look = [&](const std::string& when) {
        for (auto& [file, bytes] : files_below(directory / "run/public")) out[when + " " + file] = bytes;
    };
    if (how_.plan) {
        say("check", {"check", "../config.json"});
        say("check --json", {"check", "../config.json", "--json"});
    }
    environment["RLDP_HALT"] = how_.halt;
    say("run", {"run", "../config.json", "--out", "run"});
    if (!how_.halt.empty()) {
        if (how_.halt.starts_with("interrupt")) look("interrupted");  // after a kill the hub may have been behind
        environment.erase("RLDP_HALT");
        say("resume", {"run", "--resume", "run", "--json"});
    }
    look("public");
    return out;
}

std::vector<std::string> experiment::compare(const table& b) {
    const auto ledger = folder_ / "a/run/public/ledger.jsonl";
    const auto second = run_on(
        b, "b", {{"RLDP_REPLAY_RELEASES", (folder_ / "releases").string()}, {"RLDP_REPLAY_LEDGER", ledger.string()}});
    for (const auto& [name, bytes] : first_) bytes_ += bytes.size();
    return differences(first_, second);
}

}  // namespace rldp::testing

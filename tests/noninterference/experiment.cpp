#include "tests/noninterference/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "base/files.hpp"
#include "tests/noninterference/program.hpp"

namespace rldp::testing {

namespace {

/// A terminal's text without what was drawn to be drawn over again, which is up to the clock (docs/privacy.md §7): such
/// lines may hold a coarse share and public numbers, and anything else is left in to be found.
std::string without_live_lines(const std::string& text) {
    static const std::regex waited(R"((  \S+ [0-9:]+ (s|min|h))?$)");
    static const std::regex live(
        R"(^(reading (records(  [0-9]{1,2}0 %|  0 %)?|weights  [0-9]+ % \([0-9.]+ of [0-9.]+ GiB\)|[a-z ]+))?$)"
        R"(|^.* step [0-9]+/[0-9]+.*$)");
    std::string out, line;
    const auto end_line = [&] {
        const auto bare = std::regex_replace(line, waited, "");
        if (!std::regex_match(bare, live) || bare.empty()) out += line + "\n";
        line.clear();
    };
    static const std::string again = "\r\x1b[K";
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text.compare(at, again.size(), again) == 0) {
            if (!line.empty()) end_line();
            at += again.size() - 1;
        } else if (text[at] == '\n') {
            end_line();
        } else if (text[at] != '\r') {
            line += text[at];
        }
    }
    if (!line.empty()) end_line();
    return out;
}

std::string without_lines(const std::string& text, const std::function<bool(const std::string&)>& go) {
    std::istringstream lines(text);
    std::string out;
    for (std::string line; std::getline(lines, line);)
        if (!go(line)) out += line + "\n";
    return out;
}

/// What init tells the owner alone is marked so.
std::string without_private(const std::string& text) {
    return without_lines(text, [](const auto& line) { return line.find("PRIVATE") != std::string::npos; });
}

/// What is measured on made-up records differs from call to call.
std::string without_times(const std::string& text) {
    return without_lines(
        text, [](const auto& line) { return line.starts_with("  time here") || line.starts_with("  in an hour"); });
}

/// When each file was written last, to the nanosecond, and the directories.
std::string times_below(const std::filesystem::path& root) {
    std::map<std::string, std::filesystem::file_time_type> times;
    if (!std::filesystem::exists(root)) return {};
    times["."] = std::filesystem::last_write_time(root);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
        times[std::filesystem::relative(entry.path(), root).string()] = entry.last_write_time();
    std::string out;
    for (const auto& [name, time] : times) out += fmt::format("{} {}\n", name, time.time_since_epoch().count());
    return out;
}

/// {"train": {"steps": 6}} as --set train.steps=6.
void add_settings(std::vector<std::string>& to, const nlohmann::json& of, const std::string& prefix = {}) {
    for (const auto& [key, value] : of.items()) {
        if (value.is_object()) {
            add_settings(to, value, prefix + key + ".");
            continue;
        }
        to.emplace_back("--set");
        to.emplace_back(prefix + key + "=" + value.dump());
    }
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

/// What a process that was killed had said so far: the hub may have been behind, but it says the same in the same
/// order.
bool killed_midway(const public_side& a, const public_side& b, const std::string& name) {
    static const std::string stream = " stderr";
    if (!name.ends_with(stream)) return false;
    const auto status = a.find(name.substr(0, name.size() - stream.size()) + " status");
    return status != a.end() && status->second == "137" &&
           (a.at(name).starts_with(b.at(name)) || b.at(name).starts_with(a.at(name)));
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
        else if (in_a->second != in_b->second && !killed_midway(a, b, name))
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
    // Whether a look under way was logged before a kill is up to the clock; a kill is, too, and the one at the end has
    // not begun.
    if (how_.halt.starts_with("kill") || how_.halt.starts_with("lose")) config["eval"]["looks"] = 1;
    if (how_.how.grouped) config["privacy"]["unit"] = {{"group", "patient"}};
    if (!how_.init) write_file(folder_ / "config.json", config.dump(2));
    first_ = run_on(
        a, "a",
        {{"RLDP_DUMP_RELEASES", (folder_ / "releases").string()}, {"RLDP_DUMP_LOOKS", (folder_ / "looks").string()}});
}

public_side experiment::run_on(const table& rows, const std::string& name,
                               std::map<std::string, std::string> environment) {
    write_table(folder_ / how_.how.file("table"), rows, how_.how);
    const auto directory = folder_ / name;
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    public_side out;
    const auto say = [&](const std::string& what, std::vector<std::string> arguments) {
        const auto views = directory / "views";
        std::filesystem::remove(views);
        environment["RLDP_VIEWS"] = views.string();
        const auto said = rldp_says({.arguments = std::move(arguments),
                                     .directory = directory,
                                     .environment = environment,
                                     .terminal = how_.terminal});
        out[what + " status"] = fmt::format("{}", said.status);
        out[what + " stdout"] = without_times(what == "init" ? without_private(said.out) : said.out);
        out[what + " stderr"] = how_.terminal ? without_live_lines(said.err) : said.err;
        if (said.status > 130 || !std::filesystem::exists(views)) return;  // killed: the hub may have been behind
        out[what + " views"] = read_file(views);
    };
    const auto look = [&](const std::string& when) {
        for (auto& [file, bytes] : files_below(directory / "run/public")) out[when + " " + file] = bytes;
        out[when + " times"] = times_below(directory / "run/public");
    };
    std::vector<std::string> run{"run", "../config.json", "--out", "run"};
    if (how_.init) {
        std::vector<std::string> begin{"init",
                                       "../" + how_.how.file("table"),
                                       "--out",
                                       "../mine.json",
                                       "--force",
                                       "--model",
                                       how_.config.at("model").at("path"),
                                       "--max-tokens",
                                       "24",
                                       "--population",
                                       fmt::format("{}", how_.units)};
        if (how_.how.grouped)
            begin.insert(begin.end(), {"--person", "patient"});
        else
            begin.emplace_back("--record");
        say("init", begin);
        for (const char* file : {"mine.json", "mine.template.json"})
            if (std::filesystem::exists(folder_ / file)) out[fmt::format("init {}", file)] = read_file(folder_ / file);
        run[1] = "../mine.json";
        auto over = how_.config;
        over.erase("model");
        over["privacy"]["book"] = "found";  // which one it is follows from the table, and shows nowhere
        add_settings(run, over);
    }
    if (how_.plan) {
        say("check", {"check", "../config.json"});
        say("check --json", {"check", "../config.json", "--json"});
    }
    environment["RLDP_HALT"] = how_.halt;
    say("run", run);
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
    const auto second = run_on(b, "b",
                               {{"RLDP_REPLAY_RELEASES", (folder_ / "releases").string()},
                                {"RLDP_REPLAY_LOOKS", (folder_ / "looks").string()},
                                {"RLDP_REPLAY_LEDGER", ledger.string()}});
    for (const auto& [name, bytes] : first_) bytes_ += bytes.size();
    return differences(first_, second);
}

}  // namespace rldp::testing

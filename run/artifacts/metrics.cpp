#include "run/artifacts/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <utility>

#include "base/files.hpp"
#include "base/strict_json.hpp"
#include "run/artifacts/json_number.hpp"
#include "run/artifacts/quantities.hpp"

namespace rldp::eval {
namespace {

using json = nlohmann::ordered_json;

// An evaluation is written when it arrives, often after later steps: a line of its own without what the step was set
// to.
bool evaluation_only(const metrics_line& line) {
    return line.radii.empty() && line.noise_multiplier == 0;
}

void merge(metrics_line& into, const metrics_line& later) {
    if (!evaluation_only(later)) {
        into.noise_multiplier = later.noise_multiplier;
        into.radii = later.radii;
        into.progress = later.progress;
        into.steered = later.steered;
    }
    if (into.ledger.empty()) into.ledger = later.ledger;
    into.lost = into.lost && later.lost;
    for (const auto& row : quantities) {
        const auto field = row.field();
        if (!field) continue;
        // What one evaluation found stays together.
        const bool newer = row.when == moment::evaluation ? later.eval_perplexity.has_value() : bool(later.*field);
        if (!newer) continue;
        into.*field = later.*field;
        if (row.within) into.*row.within = later.*row.within;
    }
}

/// Those that are fields of their own.
void put(json& out, const metrics_line& line, moment when) {
    for (const auto& row : quantities) {
        const auto field = row.field();
        if (row.when != when || !field || !(line.*field)) continue;
        const std::string key(row.column);
        out[key] = json_number(*(line.*field));
        if (const auto in = row.interval_in(line)) out[key + "_in"] = {json_number(in->low), json_number(in->high)};
    }
}

void take(const json& in, metrics_line& line) {
    for (const auto& row : quantities) {
        const std::string key(row.column);
        const auto field = row.field();
        if (!field || !in.contains(key)) continue;
        line.*field = number_from(in[key]);
        if (!row.within) continue;
        if (const auto found = in.find(key + "_in"); found != in.end())
            line.*row.within = {number_from(found->at(0)), number_from(found->at(1))};
    }
}

json numbers(const std::vector<double>& values) {
    auto out = json::array();
    for (const double value : values) out.push_back(json_number(value));
    return out;
}

std::vector<double> numbers_from(const json& in) {
    std::vector<double> out;
    for (const auto& value : in) out.push_back(number_from(value));
    return out;
}

}  // namespace

void add(std::vector<metrics_line>& to, metrics_line line) {
    const auto place = std::lower_bound(to.begin(), to.end(), line.step,
                                        [](const auto& one, std::int64_t step) { return one.step < step; });
    if (place != to.end() && place->step == line.step)
        merge(*place, line);
    else
        to.insert(place, std::move(line));
}

std::string to_json(const metrics_line& line) {
    json out = {{"step", line.step}};
    put(out, line, moment::step);
    if (!evaluation_only(line)) {
        out["noise_multiplier"] = json_number(line.noise_multiplier);
        out["radii"] = numbers(line.radii);
        if (line.progress.step > 0) {
            out["progress_epsilon"] = json_number(line.progress.epsilon);
            out["progress_step"] = line.progress.step;
        }
    }
    put(out, line, moment::evaluation);
    if (line.steered)
        out["steered"] = {{"lr_factor", json_number(line.steered->lr_factor)},
                          {"rates", numbers(line.steered->rates)},
                          {"trust", json_number(line.steered->trust)}};
    if (line.lost) out["lost"] = true;
    if (!line.ledger.empty()) out["ledger"] = line.ledger;
    return out.dump();
}

metrics_line parse_metrics_line(const std::string& text) try {
    const auto in = json::parse(text);
    metrics_line line;
    line.step = to_integer(in.at("step"));
    if (line.step < 0) refuse("metrics line: step is negative; it counts from 0");
    if (in.contains("noise_multiplier")) line.noise_multiplier = number_from(in["noise_multiplier"]);
    if (in.contains("radii")) line.radii = numbers_from(in["radii"]);
    if (in.contains("progress_step"))  // without it nobody knows of which steps the ε is
        line.progress = {number_from(in.at("progress_epsilon")), to_integer(in["progress_step"])};
    take(in, line);
    if (in.contains("steered")) {
        const auto& set = in["steered"];
        line.steered = {number_from(set.at("lr_factor")), numbers_from(set.at("rates")), number_from(set.at("trust"))};
    }
    if (in.contains("lost")) in["lost"].get_to(line.lost);
    if (in.contains("ledger")) in["ledger"].get_to(line.ledger);
    return line;
} catch (const json::exception& reason) {
    refuse(fmt::format("metrics line: {}", reason.what()));
}

std::string with_checksum(const std::string& json) {
    boost::crc_32_type sum;
    sum.process_bytes(json.data(), json.size());
    return fmt::format(R"({},"crc32":"{:08x}"}})", std::string_view(json).substr(0, json.size() - 1), sum.checksum());
}

std::string without_checksum(const std::string& text) {
    const auto end = text.rfind(R"(,"crc32":)");
    if (end == std::string::npos) refuse("metrics line: it has no checksum");
    const auto json = text.substr(0, end) + "}";
    if (with_checksum(json) != text) refuse("metrics line: its checksum is another one; the line was changed");
    return json;
}

void each_line(const std::filesystem::path& path, const std::function<void(stored_line&)>& take) {
    input_file file(path);
    constexpr std::size_t piece = 1 << 16;  // of a file as long as its run
    std::string text;
    std::int64_t number = 0;
    for (bool more = true; more;) {
        const auto before = text.size();
        text.resize(before + piece);
        const auto got = file.read(text.data() + before, piece);
        text.resize(before + got);
        more = got == piece;
        std::size_t begin = 0;
        for (auto end = text.find('\n', before); end != std::string::npos; end = text.find('\n', begin)) {
            stored_line one{.number = ++number};
            try {
                one.line = parse_metrics_line(without_checksum(text.substr(begin, end - begin)));
            } catch (const error& reason) {
                one.damage = fmt::format("{}:{}: {}", path.string(), number, reason.what());
            }
            take(one);
            begin = end + 1;
        }
        text.erase(0, begin);
    }
}

std::vector<metrics_line> read_metrics(const std::filesystem::path& path) {
    std::vector<metrics_line> out;
    each_line(path, [&](stored_line& one) {
        if (!one.damage.empty()) refuse(one.damage);
        add(out, std::move(one.line));
    });
    return out;
}

void write_metrics(const std::filesystem::path& path, const std::vector<metrics_line>& lines) {
    write_in_parts(path, [&](const part_writer& write) {
        constexpr std::size_t piece = 1 << 16;
        std::string text;
        for (const auto& line : lines) {
            text += with_checksum(to_json(line)) + "\n";
            if (text.size() < piece) continue;
            write(text);
            text.clear();
        }
        write(text);
    });
}

void metrics_log::append(const metrics_line& line) {
    file_->append_unsynced(with_checksum(to_json(line)) + "\n");
}

std::vector<metrics_line> metrics_log::sort() {
    auto lines = read_metrics(path_);
    file_.reset();
    write_metrics(path_, lines);
    file_.emplace(path_);
    return lines;
}

std::string metrics_csv(const std::vector<metrics_line>& lines) {
    std::string out = "step";
    const auto cell = [&](const std::optional<double>& value) {
        out += ',';
        if (value) out += fmt::format("{}", *value);
    };
    for (const auto& row : quantities) {
        out += fmt::format(",{}", row.column);
        if (row.within) out += fmt::format(",{0}_low,{0}_high", row.column);
    }
    out += '\n';
    for (const auto& line : lines) {
        out += fmt::format("{}", line.step);
        for (const auto& row : quantities) {
            // A line repeats the last price that was known.
            const bool own = row.when != moment::price || line.progress.step == line.step;
            cell(own ? row.value_in(line) : std::nullopt);
            if (!row.within) continue;
            const auto in = row.interval_in(line);
            cell(in ? std::optional(in->low) : std::nullopt);
            cell(in ? std::optional(in->high) : std::nullopt);
        }
        out += '\n';
    }
    return out;
}

}  // namespace rldp::eval

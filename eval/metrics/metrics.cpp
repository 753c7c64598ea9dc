#include "eval/metrics/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <utility>

#include "config/base/files.hpp"
#include "config/base/input_file.hpp"
#include "config/base/whole_number.hpp"
#include "eval/metrics/json_number.hpp"

namespace rldp::eval {
namespace {

using json = nlohmann::ordered_json;

// An evaluation is written when it arrives, often after later steps: a line of its own without the step's dials.
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
    if (later.loss_released) into.loss_released = later.loss_released;
    if (!later.eval_perplexity) return;
    into.eval_perplexity = later.eval_perplexity;
    into.eval_perplexity_in = later.eval_perplexity_in;
    into.eval_value_nats = later.eval_value_nats;
    into.eval_value_token_nats = later.eval_value_token_nats;
    into.eval_value_token_nats_in = later.eval_value_token_nats_in;
    into.eval_accuracy = later.eval_accuracy;
    into.eval_accuracy_in = later.eval_accuracy_in;
}

void put(json& out, const std::string& key, const std::optional<double>& value, const std::optional<interval>& in) {
    if (!value) return;
    out[key] = json_number(*value);
    if (in) out[key + "_in"] = {json_number(in->low), json_number(in->high)};
}

void take(const json& in, const std::string& key, std::optional<double>& value, std::optional<interval>& within) {
    if (!in.contains(key)) return;
    value = number_from(in[key]);
    if (const auto found = in.find(key + "_in"); found != in.end())
        within = {number_from(found->at(0)), number_from(found->at(1))};
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
    if (line.loss_released) out["loss_released"] = json_number(*line.loss_released);
    if (!evaluation_only(line)) {
        out["noise_multiplier"] = json_number(line.noise_multiplier);
        out["radii"] = numbers(line.radii);
        if (line.progress.step > 0) {
            out["progress_epsilon"] = json_number(line.progress.epsilon);
            out["progress_step"] = line.progress.step;
        }
    }
    put(out, "eval_perplexity", line.eval_perplexity, line.eval_perplexity_in);
    put(out, "eval_value_nats", line.eval_value_nats, {});
    put(out, "eval_value_token_nats", line.eval_value_token_nats, line.eval_value_token_nats_in);
    put(out, "eval_accuracy", line.eval_accuracy, line.eval_accuracy_in);
    if (line.steered)
        out["steered"] = {{"lr_factor", json_number(line.steered->lr_factor)},
                          {"rates", numbers(line.steered->rates)},
                          {"shares", numbers(line.steered->shares)},
                          {"trust", json_number(line.steered->trust)}};
    if (line.lost) out["lost"] = true;
    if (!line.ledger.empty()) out["ledger"] = line.ledger;
    return out.dump();
}

metrics_line parse_metrics_line(const std::string& text) try {
    const auto in = json::parse(text);
    metrics_line line;
    line.step = whole_number(in.at("step"));
    if (line.step < 0) refuse("metrics line: step is negative; it counts from 0");
    if (in.contains("loss_released")) line.loss_released = number_from(in["loss_released"]);
    if (in.contains("noise_multiplier")) line.noise_multiplier = number_from(in["noise_multiplier"]);
    if (in.contains("radii")) line.radii = numbers_from(in["radii"]);
    if (in.contains("progress_step"))  // without it nobody knows of which steps the ε is
        line.progress = {number_from(in.at("progress_epsilon")), whole_number(in["progress_step"])};
    take(in, "eval_perplexity", line.eval_perplexity, line.eval_perplexity_in);
    if (in.contains("eval_value_nats")) line.eval_value_nats = number_from(in["eval_value_nats"]);
    take(in, "eval_value_token_nats", line.eval_value_token_nats, line.eval_value_token_nats_in);
    take(in, "eval_accuracy", line.eval_accuracy, line.eval_accuracy_in);
    if (in.contains("steered")) {
        const auto& set = in["steered"];
        line.steered = {number_from(set.at("lr_factor")), numbers_from(set.at("rates")), numbers_from(set.at("shares")),
                        number_from(set.at("trust"))};
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
    const auto cell = [](const std::optional<double>& value) {
        return value ? fmt::format("{}", *value) : std::string();
    };
    std::string out =
        "step,loss_released,noise_multiplier,progress_epsilon,eval_perplexity,eval_perplexity_low,"
        "eval_perplexity_high,eval_value_nats,eval_value_token_nats,eval_accuracy,lr_factor\n";
    for (const auto& line : lines) {
        const bool priced = line.progress.step == line.step && line.step > 0;
        const auto& in = line.eval_perplexity_in;
        out += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", line.step, cell(line.loss_released),
                           line.radii.empty() ? std::string() : fmt::format("{}", line.noise_multiplier),
                           priced ? cell(line.progress.epsilon) : std::string(), cell(line.eval_perplexity),
                           in ? cell(in->low) : std::string(), in ? cell(in->high) : std::string(),
                           cell(line.eval_value_nats), cell(line.eval_value_token_nats), cell(line.eval_accuracy),
                           line.steered ? cell(line.steered->lr_factor) : std::string());
    }
    return out;
}

}  // namespace rldp::eval

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/files.hpp"
#include "eval/experiments/cell_files.hpp"
#include "privacy/spending/account.hpp"
#include "run/artifacts/json_number.hpp"
#include "run/artifacts/run_directory.hpp"

namespace rldp::eval {

std::map<std::string, double> read_attacks(const std::filesystem::path& audit_json) {
    if (!std::filesystem::exists(audit_json)) return {};
    std::map<std::string, double> out;
    try {
        const auto read = nlohmann::ordered_json::parse(read_text(audit_json));
        const auto take = [&](const char* name, const nlohmann::ordered_json& value) {
            if (!value.is_null()) out[name] = number_from(value);
        };
        if (const auto& found = read.at("membership"); !found.is_null()) {
            take("mean log-probability", found.at("members").at("mean_log_probability"));
            take("mean perplexity", found.at("members").at("mean_perplexity"));
            take("membership AUC", found.at("attack").at("auc"));
        }
        if (const auto& found = read.at("extraction"); !found.empty()) {
            take("valid outputs", found[0].at("valid"));
            take("secrets found", found[0].at("found"));
            if (const auto& likeness = found[0].at("jaccard"); !likeness.is_null())
                for (std::size_t n = 0; n < likeness.size(); ++n)
                    take(("Jaccard " + std::to_string(n + 1)).c_str(), likeness[n].at("mean"));
        }
        take("mean exposure, bits", read.at("course").back().at("mean_exposure"));
        take("ε at least", read.at("audited_epsilon"));
    } catch (const nlohmann::json::exception&) {
        refuse(audit_json.string() + ": is no audit report of this version; remove it");
    }
    return out;
}

namespace {

using json = nlohmann::ordered_json;

// A run that can't go on: its key is gone, and with it the proof that draws and noise are its own.
std::string beyond_resuming(const cell_files& files) {
    return fmt::format(
        "{} holds a ledger, so budget was spent, but neither a certificate nor the key to go on; look at it, and "
        "to spend another budget on this cell, remove the directory and run the same command again",
        files.run().root.string());
}

/// Of a tuning: its account has one ledger for a name, and would refuse another.
bool was_removed(const cell_files& files) {
    const auto account = privacy::locate_account(files.out);
    if (!std::filesystem::exists(account) || std::filesystem::exists(files.run().ledger())) return false;
    const auto name = files.run().root.lexically_relative(files.out).generic_string();
    return privacy::read_account(account).find(name) != nullptr;
}

cell_state read_state(const cell_files& files, const cell_history& history) {
    if (history.failure) return cell_state::failed;
    switch (read_state(files.run())) {
        case run_state::none:
            return cell_state::not_run;
        case run_state::unfinished:
        case run_state::ending:
            return cell_state::unfinished;
        case run_state::over:
            return cell_state::done;
        case run_state::lost:
            return cell_state::failed;
    }
    bug("a run's state without a cell's");
}

}  // namespace

void grid_directory::create() const {
    create_private_directory(trusted_side());
    for (const auto& path : {cells(), trusted_cells()}) make_directory(path);
}

std::string name_of(cell_state state) {
    switch (state) {
        case cell_state::not_run:
            return "not run";
        case cell_state::unfinished:
            return "unfinished";
        case cell_state::failed:
            return "failed";
        case cell_state::done:
            return "done";
    }
    bug("a cell's state without a name");
}

cell_history read_history(const cell_files& files) {
    if (!std::filesystem::exists(files.history())) return {};
    try {
        const auto in = json::parse(read_text(files.history()));
        cell_history out{in.at("seconds").get<double>(), in.at("starts").get<int>(), {}};
        if (in.contains("failure")) out.failure = in["failure"].get<std::string>();
        return out;
    } catch (const json::exception& reason) {
        refuse(fmt::format("{}: {}; remove the file, only times are lost", files.history().string(), reason.what()));
    }
}

void write_history(const cell_files& files, const cell_history& history) {
    json out = {{"seconds", history.seconds}, {"starts", history.starts}};
    if (history.failure) out["failure"] = *history.failure;
    write_file(files.history(), out.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

std::optional<commitment> read_commitment(const cell_files& files) {
    if (!std::filesystem::exists(files.run().ledger())) return std::nullopt;
    const auto text = read_file(files.run().ledger());
    const auto line = text.substr(0, text.find('\n'));
    if (line.empty()) return std::nullopt;
    const auto header = json::parse(line, nullptr, false);
    try {
        const guarantee promised{.semantics = parse_named<semantics>(header.at("semantics").get<std::string>()),
                                 .insecure_reproducible = header.at("insecure_reproducible").get<bool>(),
                                 .epsilon_guaranteed = number_from(header.at("guaranteed_epsilon"))};
        return commitment{promised.epsilon_guaranteed, header.at("delta").get<double>(),
                          header.at("steps").get<std::int64_t>(), promised.holds(),
                          parse_named<publication>(header.value("held_out", "raw"))};
    } catch (const json::exception&) {
        refuse(fmt::format("{}: its first line is no ledger's header; see rldp ledger verify {}",
                           files.run().ledger().string(), files.run().root.string()));
    }
}

std::optional<run_summary> finished_summary(const cell_files& files) {
    if (read_state(files.run()) != run_state::over) return std::nullopt;
    return parse_summary(read_text(files.run().summary()));
}

cell_result read_result(const cell_files& files) {
    cell_result out;
    out.summary = finished_summary(files);
    // Whether an audit failed concerns the owner only.
    out.state = out.summary ? cell_state::done : read_state(files, read_history(files));
    out.committed = read_commitment(files);
    out.lost = read_state(files.run()) == run_state::lost || was_removed(files);
    if (std::filesystem::exists(files.run().metrics())) out.metrics = read_metrics(files.run().metrics());
    return out;
}

cell_secrets read_secrets(const cell_files& files) {
    cell_secrets out{.history = read_history(files), .attacks = read_attacks(files.run().audit_json()), .failure = {}};
    if (out.history.failure) {
        out.failure = *out.history.failure;
        if (const auto log = last_log_lines(files); !log.empty()) out.failure += "\n" + log;
    } else if (read_result(files).state == cell_state::failed) {
        out.failure = beyond_resuming(files);
    }
    return out;
}

std::string last_log_lines(const cell_files& files, std::size_t lines) {
    if (!std::filesystem::exists(files.log())) return {};
    auto text = read_file(files.log());
    const auto last = text.find_last_not_of("\r\n \t");
    text.erase(last == std::string::npos ? 0 : last + 1);
    auto begin = text.size();
    for (; lines > 0 && begin != std::string::npos && begin > 0; --lines) begin = text.rfind('\n', begin - 1);
    return begin == std::string::npos ? text : text.substr(begin == 0 ? 0 : begin + 1);
}

}  // namespace rldp::eval

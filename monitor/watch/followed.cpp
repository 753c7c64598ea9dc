#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "monitor/watch/followed.hpp"
#include "privacy/spending/policy.hpp"
#include "run/artifacts/guarantees.hpp"
#include "run/artifacts/json_number.hpp"
#include "run/artifacts/summary.hpp"

namespace rldp::monitor {

namespace {

constexpr std::size_t most_of_a_description = 64U << 20U;  // bytes

nlohmann::json parsed(const std::filesystem::path& file) {
    return nlohmann::json::parse(read_public(file, 0, most_of_a_description).value_or(""), nullptr, false);
}

std::string word_at(const nlohmann::json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

followed_grid::followed_grid(std::string id, std::string name, const std::filesystem::path& directory)
    : description_(directory / "grid.json"), progress_(directory / "progress.json") {
    view_.id = std::move(id);
    view_.name = std::move(name);
}

bool followed_grid::refresh() {
    auto described = state_of_public(description_), progressed = state_of_public(progress_);
    if (described == described_ && progressed == progressed_) return false;
    described_ = described;
    progressed_ = progressed;
    view_.problem.clear();
    view_.cells.clear();
    if (const auto grid = parsed(description_); grid.is_object())
        view_.kind = word_at(grid, "kind");
    else if (described_)
        view_.problem = "grid.json: is no description of a grid";
    if (!progressed_) return true;
    const auto progress = parsed(progress_);
    if (!progress.is_object() || !progress.contains("cells") || !progress["cells"].is_array()) {
        view_.problem = "progress.json: is no grid's progress";
        return true;
    }
    for (const auto& one : progress["cells"])
        if (one.is_object()) view_.cells.push_back({word_at(one, "id"), word_at(one, "state")});
    return true;
}

namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t most_of_a_file =
    64U << 20U;  // bytes of a summary, a configuration, a ledger's header (with its deck)
constexpr std::size_t tail_bytes = 64U << 10U;
constexpr std::size_t piece = 4U << 20U;
constexpr std::size_t most_made_up = 64;  ///< rows

/// The last whole line.
std::string_view last_line(std::string_view text) {
    const auto end = text.rfind('\n');
    if (end == std::string_view::npos) return {};
    text = text.substr(0, end);
    return text.substr(text.rfind('\n') + 1);  // npos + 1 is 0
}

std::string text_at(const json& object, const char* section, const char* key) {
    const auto found = object.find(section);
    if (found == object.end() || !found->is_object()) return {};
    const auto value = found->find(key);
    return value != found->end() && value->is_string() ? value->get<std::string>() : std::string();
}

std::vector<std::string> texts_at(const json& object, const char* section, const char* key) {
    std::vector<std::string> out;
    const auto found = object.find(section);
    if (found == object.end() || !found->is_object() || !found->contains(key) || !(*found)[key].is_array()) return out;
    for (const auto& each : (*found)[key])
        if (each.is_string()) out.push_back(each.get<std::string>());
    return out;
}

eval::run_summary promised(const json& header) {
    eval::run_summary out;
    out.epsilon_budget = eval::number_from(header.at("epsilon"));
    out.delta = eval::number_from(header.at("delta"));
    out.epsilon_guaranteed = eval::number_from(header.at("guaranteed_epsilon"));
    out.sample_rate = eval::number_from(header.at("sample_rate"));
    out.semantics = parse_named<semantics>(header.at("semantics").get<std::string>());
    out.insecure_reproducible = header.at("insecure_reproducible").get<bool>();
    out.policy = header.at("policy").get<std::string>();
    out.unit = header.at("unit").get<std::string>();
    out.split = header.at("split").get<std::string>();
    out.bands = header.value("bands", std::int64_t{1});
    if (!header.contains("held_out")) return out;  // of an earlier version
    out.held_out = parse_named<publication>(header["held_out"].get<std::string>());
    header.at("looks").at("count").get_to(out.looks);
    header["looks"].at("noise_multiplier").get_to(out.looks_noise_multiplier);
    return out;
}

contract_view make_contract(const json& header) {
    const auto promise = promised(header);
    auto said = eval::describe_guarantees(promise);
    std::vector<privacy::card> cards;
    if (header.contains("deck"))
        for (const auto& one : header["deck"])
            cards.push_back({.noise_multiplier = eval::number_from(one.at("noise_multiplier")),
                             .steps = one.at("steps").get<std::int64_t>()});
    // Several cards have one noise multiplier, and steps beyond the plan are never dealt.
    std::vector<contract_view::level> deck;
    for (const auto& phase : privacy::priced_phases(cards, 1, header.at("steps").get<std::int64_t>()))
        deck.push_back({phase.noise_multiplier, phase.steps});
    return {.any = said.any,
            .headline = std::move(said.headline),
            .holds = std::move(said.holds),
            .does_not = std::move(said.does_not),
            .epsilon_budget = promise.epsilon_budget,
            .delta = promise.delta,
            .epsilon_guaranteed = promise.epsilon_guaranteed,
            .unit = promise.unit,
            .policy = promise.policy,
            .accountant = header.at("accountant").get<std::string>(),
            .deck = std::move(deck)};
}

}  // namespace

followed_run::followed_run(std::string id, std::string name, const std::filesystem::path& directory)
    : directory_(directory), files_(directory) {
    view_.id = std::move(id);
    view_.name = std::move(name);
    view_.state = "starting";
}

bool followed_run::refresh() {
    bool any = false;
    const auto look = [&](public_file which, std::optional<file_state>& known) {
        auto now = files_.read_state(which);
        if (now == known) return false;
        known = now;
        return any = true;
    };
    if (look(public_file::config, config_)) read_config();
    if (look(public_file::ledger, ledger_)) read_ledger();
    if (look(public_file::metrics, metrics_)) {
        read_last_lines();
        if (history_) follow();
    }
    if (look(public_file::summary, summary_) && summary_) read_summary();
    look(public_file::certificate, certificate_);
    if (look(public_file::report_page, report_page_)) view_.has_report = report_page_.has_value();
    if (look(public_file::certificate_page, certificate_page_)) view_.has_certificate = certificate_page_.has_value();
    const auto before = view_.state;
    settle_state();
    return any || before != view_.state;
}

void followed_run::tell(const run_view& now) {
    announced_ = now.state;
    view_.step = now.step;
    view_.steps = now.steps;
    settle_state();
}

void followed_run::tell(table_progress now) {
    view_.table = std::move(now.last);
    view_.rows_made = now.made;
    view_.rows_asked = now.asked;
}

std::optional<std::string> followed_run::page(public_file which) const {
    return files_.read(which, 0, most_of_a_file);
}

void followed_run::settle_state() {
    if (!view_.problem.empty())
        view_.state = "damaged";
    else if (!announced_.empty())
        view_.state = announced_;
    else if (summary_ && ended_for_good_ && certificate_)
        view_.state = summarised_;
    else if (is_being_written(files_.find_path(public_file::ledger)))
        view_.state = "running";
    else if (!summary_ || ended_for_good_)  // cut, at the latest while it ended
        view_.state = has_header_ ? "silent" : "starting";
    else
        view_.state = summarised_;
}

void followed_run::read_config() {
    const auto text = files_.read(public_file::config, 0, most_of_a_file);
    if (!text) return;
    const auto config = json::parse(*text, nullptr, false);
    if (!config.is_object()) return;
    // As its summary will: nothing steers a run under a schedule (config::find_method).
    view_.method = text_at(config, "rl", "state") == "schedule" ? "static" : text_at(config, "method", "name");
    view_.model = without_directory(text_at(config, "model", "path"));
    view_.data = without_directory(text_at(config, "data", "path"));
    view_.title = text_at(config, "run", "name");
    view_.notes = text_at(config, "run", "notes");
    view_.tags = texts_at(config, "run", "tags");
}

void followed_run::read_ledger() {
    if (!has_header_) {
        const auto text = files_.read(public_file::ledger, 0, most_of_a_file);
        const auto end = text ? text->find('\n') : std::string::npos;
        if (end == std::string::npos) return;
        try {
            const auto header = json::parse(text->substr(0, end));
            view_.contract = make_contract(header);
            view_.steps = header.at("steps").get<std::int64_t>();
            view_.held_out = header.value("held_out", "raw");
            has_header_ = true;
        } catch (const std::exception&) {
            view_.problem = files_.find_path(public_file::ledger).filename().string() +
                            ": its first line is no ledger's header; the run is damaged, or of another version";
            return;
        }
    }
    const auto size = ledger_ ? ledger_->size : 0;
    const auto tail = files_.read(public_file::ledger, size > tail_bytes ? size - tail_bytes : 0, tail_bytes);
    if (!tail) return;
    const auto entry = json::parse(last_line(*tail), nullptr, false);
    if (entry.is_object() && entry.contains("hash") && entry["hash"].is_string())
        view_.ledger_head = entry["hash"].get<std::string>();
}

/// The latest of each number, from the end of the file: enough for a table of many runs.
void followed_run::read_last_lines() {
    if (!metrics_) return;
    const bool whole = metrics_->size <= tail_bytes;
    const auto tail = files_.read(public_file::metrics, whole ? 0 : metrics_->size - tail_bytes, tail_bytes);
    if (!tail) return;
    std::size_t begin = whole ? 0 : tail->find('\n') + 1;
    for (auto end = tail->find('\n', begin); end != std::string::npos; end = tail->find('\n', begin)) {
        note_line(tail->substr(begin, end - begin));
        begin = end + 1;
    }
}

void followed_run::note_line(const std::string& text) {
    try {
        view_.observe(eval::parse_metrics_line(eval::without_checksum(text)));
    } catch (const error& wrong) {
        view_.problem = fmt::format("metrics.jsonl: {}", wrong.what());
    }
}

void followed_run::read_summary() {
    const auto text = files_.read(public_file::summary, 0, most_of_a_file);
    if (!text) return;
    try {
        const auto summary = eval::parse_summary(*text);
        summarised_ = name_of(summary.how);
        ended_for_good_ = summary.how != eval::ending::interrupted;
        view_.version = summary.version;
        view_.step = summary.steps_done;
        view_.steps = summary.steps_planned;
        view_.groups = summary.groups;
        view_.controller = summary.controller;
        view_.warnings = summary.warnings;
        if (view_.rows_asked == 0) {
            view_.table = summary.table;
            view_.table.rows.resize(std::min(view_.table.rows.size(), most_made_up));
        }
        view_.perplexity_before = summary.perplexity_before;
        if (summary.perplexity_after)
            view_.latest[eval::quantity::perplexity] = {*summary.perplexity_after, summary.perplexity_after_in};
        if (summary.value_nats_after) view_.latest[eval::quantity::value_nats].value = *summary.value_nats_after;
        if (!summary.method.empty()) view_.method = summary.method;
    } catch (const error& wrong) {
        view_.problem = fmt::format("summary.json: {}", wrong.what());
    }
}

const history& followed_run::past() {
    if (!history_) {
        history_ = std::make_unique<history>();
        inode_ = 0;
        follow();
    }
    return *history_;
}

/// Whole lines that have come since; all anew where the file is another one, as after a resume or at the end.
void followed_run::follow() {
    if (!metrics_) return;
    if (metrics_->inode != inode_ || metrics_->size < read_) {
        *history_ = {};
        inode_ = metrics_->inode;
        read_ = 0;
        lines_ = 0;
    }
    while (read_ < metrics_->size) {
        const auto text = files_.read(public_file::metrics, read_, piece);
        if (!text || text->empty()) return;
        std::size_t begin = 0;
        for (auto end = text->find('\n'); end != std::string::npos; end = text->find('\n', begin)) {
            ++lines_;
            try {
                history_->add(eval::parse_metrics_line(eval::without_checksum(text->substr(begin, end - begin))));
            } catch (const error& wrong) {
                view_.problem = fmt::format("metrics.jsonl:{}: {}", lines_, wrong.what());
                return;
            }
            begin = end + 1;
        }
        if (begin == 0) return;  // a line that is not whole yet
        read_ += begin;
    }
}

}  // namespace rldp::monitor

#include "tests/faults/witness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

namespace rldp::testing {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::uint64_t number_at(const std::string& bytes, std::size_t at) {
    std::uint64_t out = 0;
    if (bytes.size() >= at + sizeof out) std::memcpy(&out, bytes.data() + at, sizeof out);
    return out;
}

bool is_metrics(const std::string& name) {
    return name.ends_with("/metrics.jsonl") || name.ends_with("/metrics.jsonl.tmp");
}

}  // namespace

void witness::object(const std::string& symptom) {
    if (std::find(objections_.begin(), objections_.end(), symptom) == objections_.end()) objections_.push_back(symptom);
}

bool witness::begun() const {
    return fs::exists(where_.run() / "public/ledger.jsonl");
}

bool witness::finished() const {
    return begun() && !fs::exists(where_.run() / "trusted/run.key");
}

bool witness::over() const {
    return finished() && fs::exists(where_.run() / "public/certificate.json");
}

/// Whole lines of steps: behind the header, and no look's.
std::size_t witness::charges(const std::string& ledger) const {
    const auto whole = split_lines(ledger.substr(0, ledger.rfind('\n') + 1));
    const auto all = std::count_if(whole.begin(), whole.end(), [](const auto& line) {
        return !line.empty() && line.find("\"look\":") == std::string::npos;
    });
    return all > 0 ? static_cast<std::size_t>(all - 1) : 0;
}

namespace {

/// The steps with whose adapters a ledger has charged looks.
std::multiset<std::int64_t> looks_in(const std::string& ledger) {
    std::multiset<std::int64_t> out;
    for (const auto& line : split_lines(ledger)) {
        const auto read = json::parse(line, nullptr, false);
        if (read.is_object() && read.contains("look")) out.insert(read["step"].get<std::int64_t>());
    }
    return out;
}

}  // namespace

void witness::saw(const std::vector<event>& journal) {
    safe_ledger_ = ledger_;
    release_.clear();
    for (const auto& what : journal) {
        const bool ledger = what.where.ends_with("/public/ledger.jsonl");
        const bool log = what.where.ends_with("/trusted/releases.log");
        const bool metrics = is_metrics(what.where);
        if (what.kind == "write" && ledger) {
            ledger_.resize(static_cast<std::size_t>(what.number));
            ledger_ += what.bytes;
        } else if (what.kind == "truncate" && ledger) {
            ledger_.resize(static_cast<std::size_t>(what.number));
        } else if (what.kind == "fsync" && ledger) {
            safe_ledger_ = ledger_;
        } else if (what.kind == "write" && log) {
            saw_release(what.bytes);
        } else if (what.kind == "truncate" && log) {
            release_.clear();
        } else if (what.kind == "fsync" && log) {
            for (const auto& [seq, bytes] : releases_) safe_releases_.insert(seq);
        } else if (what.kind == "write" && metrics) {
            saw_metrics(what.bytes);
        } else if (what.kind == "unlink" && what.where.ends_with("/trusted/run.key")) {
            erased_ = true;
        }
    }
}

/// A record: 8 bytes of magic, the payload's length (u64), its seal of 16 bytes, the payload, which begins with its
/// seq.
void witness::saw_release(const std::string& bytes) {
    release_ += bytes;
    constexpr std::size_t prefix = 32;
    if (release_.size() < prefix) return;
    if (!release_.starts_with("RLDPREL")) return object("releases.log holds something else than releases");
    const auto length = number_at(release_, 8);
    if (release_.size() < length + prefix) return;
    const auto payload = release_.substr(release_.size() - length);
    release_.clear();
    const auto seq = number_at(payload, 0);
    if (seq > charges(safe_ledger_)) object(fmt::format("release {} was written before its charge was safe", seq));
    const auto [known, is_new] = releases_.try_emplace(seq, payload);
    if (!is_new && known->second != payload) object(fmt::format("release {} was made twice, with two contents", seq));
}

void witness::saw_metrics(const std::string& bytes) {
    for (const auto& [step, seen] : read_steps(bytes)) {
        if (step < 1 || seen.loss.empty() || seen.loss == "null") continue;
        if (safe_releases_.count(static_cast<std::uint64_t>(step)) == 0)
            object(fmt::format("step {} was shown before its release was safe", step));
        const auto [known, is_new] = shown_.try_emplace(step, seen.loss);
        if (!is_new && known->second != seen.loss) object(fmt::format("step {} was shown with two contents", step));
    }
}

void witness::compare_ledgers(bool may_shrink) {
    const auto whole = [](const std::string& text) { return text.substr(0, text.rfind('\n') + 1); };
    const auto now = read_content(where_.run() / "public/ledger.jsonl");
    const auto before = whole(ledger_), after = whole(now);
    const bool grew = after.starts_with(before);
    if (!grew && !(may_shrink && before.starts_with(after))) object("the ledger's lines are not those that were there");
    const auto torn = now.size() > after.size() ? 1u : 0u;
    if (may_shrink && !safe_releases_.empty() && charges(after) + torn < *safe_releases_.rbegin())
        object(fmt::format("{} charges are left of {} that were released", charges(after) + torn,
                           *safe_releases_.rbegin()));
    ledger_ = safe_ledger_ = now;
}

void witness::look() {
    compare_ledgers(false);
}

void witness::look_after_cut() {
    if (finished() && !erased_) object("the key was lost before the run was over");
    compare_ledgers(true);
}

void witness::take_as_it_is() {
    ledger_ = safe_ledger_ = read_content(where_.run() / "public/ledger.jsonl");
}

void witness::complete(const reference& whole) {
    compare_steps(whole);
    const auto run = where_.run();
    const auto summary = json::parse(read_content(run / "public/summary.json"), nullptr, false);
    if (!summary.is_object()) return object("public/summary.json is no JSON");
    if (!over()) object("status 0, and the run is not over");
    if (summary.value("status", "") != "done") object("summary: status is not done");
    if (summary.value("steps_done", -1) != whole.how.steps) object("summary: steps_done is not the plan's");
    const auto charged = static_cast<std::int64_t>(charges(ledger_));
    if (charged != whole.how.steps) object(fmt::format("{} charges for {} steps", charged, whole.how.steps));
    const auto steps = read_steps(read_content(run / "public/metrics.jsonl"));
    const bool lost = std::any_of(steps.begin(), steps.end(), [](const auto& one) { return one.second.lost(); });
    if (!whole.how.seeded || lost) return;
    if (read_content(run / "public/adapter/adapter_model.safetensors") != whole.adapter)
        object("the adapter is not that of an uninterrupted run");
    std::vector<std::string> multipliers;
    for (const auto& line : split_lines(ledger_)) {
        const auto read = json::parse(line, nullptr, false);
        if (read.is_object() && read.contains("seq")) multipliers.push_back(read["noise_multiplier"].dump());
    }
    if (multipliers != whole.multipliers) object("the noise multipliers are not those of an uninterrupted run");
}

void witness::compare_steps(const reference& whole) {
    const auto steps = read_steps(read_content(where_.run() / "public/metrics.jsonl"));
    if (steps.count(-1)) object("metrics.jsonl: a line that is none: " + steps.at(-1).loss.substr(0, 40));
    const auto looks = looks_in(ledger_);
    for (const auto step : looks)
        if (looks.count(step) > 1) object(fmt::format("step {} was looked at twice", step));
    std::string missing, repeated, unevaluated;
    for (const auto& [number, expected] : whole.steps) {
        const auto found = steps.find(number);
        const metrics_step got = found == steps.end() ? metrics_step{} : found->second;
        if (expected.step && !got.step) missing += fmt::format(" {}", number);
        if (got.lines > 1) repeated += fmt::format(" {}", number);
        // A look that was charged and cut is lost.
        if (expected.evaluated && !got.evaluated && !looks.contains(number)) unevaluated += fmt::format(" {}", number);
    }
    if (!missing.empty()) object("metrics.jsonl: lost steps" + missing);
    if (!repeated.empty()) object("metrics.jsonl: repeated steps" + repeated);
    if (!unevaluated.empty()) object("metrics.jsonl: lost evaluations of steps" + unevaluated);
    for (const auto& [number, loss] : shown_) {
        const auto found = steps.find(number);
        if (found != steps.end() && found->second.step && found->second.loss != loss)
            object(fmt::format("metrics.jsonl: step {} was shown with another loss", number));
    }
}

void witness::look_for_leftovers() {
    static const std::vector<std::string> secret{"trusted/run.key", "trusted/releases.log",
                                                 "trusted/checkpoint.safetensors", "trusted/certificate.json"};
    for (const auto& name : secret)
        if (finished() && fs::exists(where_.run() / name)) object("left over: " + name);
    for (const auto& name : files_in(where_.run()))
        // In a run that can go on, what a kill left on the trusted side is written again, or erased at the end.
        if (name.ends_with(".tmp") && (finished() || name.starts_with("public/"))) object("left over: " + name);
    if (!fs::exists(where_.below())) return;
    for (const auto& entry : fs::directory_iterator(where_.below()))
        if (entry.path().filename().string().find(".partial-") != std::string::npos)
            object("left over: run.partial-… beside the run");
}

}  // namespace rldp::testing

#include "tests/faults/ground.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace rldp::testing {

namespace {

using nlohmann::json;

std::vector<std::string> list_multipliers(const path& ledger) {
    std::vector<std::string> out;
    for (const auto& line : split_lines(read_content(ledger))) {
        const auto read = json::parse(line);
        if (read.contains("seq")) out.push_back(read["noise_multiplier"].dump());
    }
    return out;
}

answer run_once(const ground& on, const command& what, const yard& where) {
    process running(on.forked, what, where.aside());
    return running.wait();
}

}  // namespace

std::vector<std::string> variant::start(const path& sources, const path& run) const {
    std::vector<std::string> out{"run", (sources / "config/demo.json").string(), "--quiet", "--out", run.string()};
    std::vector<std::string> all{
        "data.path=synthetic:80", "data.max_tokens=24",   "train.expected_batch_size=8",
        "train.eval_every=3",     "train.eval_records=2", "train.warmup=2",
        "rl.interval=2",          "rl.warmup=2",          "audit.trials=8",
        "audit.targets=4",        "audit.references=20",  "train.steps=" + std::to_string(steps)};
    all.insert(all.end(), sets.begin(), sets.end());
    for (const auto& set : all) out.insert(out.end(), {"--set", set});
    return out;
}

std::vector<std::string> resume(const path& run) {
    return {"run", "--quiet", "--resume", run.string()};
}

std::vector<variant> variants() {
    return {{"seeded-deck", {"noise.insecure_reproducible=true"}, true},
            {"secret-filter", {"noise.policy=filter"}},
            // In several bands a run that went on has other noise than one that was never cut.
            {"seeded-static", {"method.name=static", "noise.insecure_reproducible=true", "noise.bands=1"}, true}};
}

std::map<std::int64_t, metrics_step> read_steps(const std::string& metrics) {
    std::map<std::int64_t, metrics_step> out;
    for (const auto& text : split_lines(metrics)) {
        const auto line = json::parse(text, nullptr, false);
        if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer()) {
            out[-1].loss = text;  // no line of ours
            continue;
        }
        auto& step = out[line["step"].get<std::int64_t>()];
        if (line.contains("noise_multiplier")) {
            step.step = true;
            ++step.lines;
        }
        if (line.contains("eval_perplexity")) step.evaluated = true;
        if (line.contains("loss_released")) step.loss = line["loss_released"].dump();
    }
    return out;
}

std::map<std::string, std::string> ground::watched(const yard& where, const path& journal,
                                                   const std::string& orders) const {
    std::map<std::string, std::string> out{{"LD_PRELOAD", shim.string()},
                                           {"RLDP_FAULT_BELOW", where.below().string()},
                                           {"OMP_NUM_THREADS", "1"},
                                           {"OPENBLAS_NUM_THREADS", "1"},
                                           {"RLDP_FAULT_JOURNAL", journal.string()}};
    out["RLDP_FAULT"] = orders + "," + sabotage;
    return out;
}

reference ground::refer(const variant& how) const {
    reference out;
    out.how = how;
    const yard whole{scratch / how.name};
    std::filesystem::create_directories(whole.below());
    const auto began = std::chrono::steady_clock::now();
    const auto said = run_once(*this, {how.start(sources, whole.run()), watched(whole, whole.root / "journal")}, whole);
    out.time = std::chrono::duration_cast<microseconds>(std::chrono::steady_clock::now() - began);
    if (said.status != 0)
        throw std::runtime_error(how.name + ": an undisturbed run ends with " + std::to_string(said.status) + ": " +
                                 said.err);
    out.finished = whole.root;
    out.journal = read_journal(whole.root / "journal");
    out.adapter = read_content(whole.run() / "public/adapter/adapter_model.safetensors");
    out.multipliers = list_multipliers(whole.run() / "public/ledger.jsonl");
    out.steps = read_steps(read_content(whole.run() / "public/metrics.jsonl"));

    // Killed after the fifth release, two steps beyond a checkpoint, so that the log is needed. It is synced when it is
    // opened, three times, when the checkpoint empties it, and twice more.
    const yard half{scratch / (how.name + "-interrupted")};
    std::filesystem::create_directories(half.below());
    run_once(*this,
             {how.start(sources, half.run()), watched(half, half.root / "journal", "fsync:releases.log:7:die-after")},
             half);
    out.interrupted = half.root;
    out.before = read_journal(half.root / "journal");
    const yard on{scratch / (how.name + "-resumed")};
    std::filesystem::create_directories(on.root);
    copy_tree(half.below(), on.below());
    run_once(*this, {resume(on.run()), watched(on, on.root / "journal")}, on);
    out.resumed = read_journal(on.root / "journal");
    if (out.before.empty() || out.resumed.empty())
        throw std::runtime_error(how.name + ": the preloaded library recorded nothing");
    return out;
}

void ground::prepare() {
    for (const auto& how : variants()) references.push_back(refer(how));
}

}  // namespace rldp::testing

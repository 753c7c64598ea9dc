#include "tests/monitor/watch/made_up_run.hpp"

#include "base/files.hpp"
#include "privacy/spending/ledger.hpp"
#include "run/artifacts/summary.hpp"

namespace rldp::testing {

namespace fs = std::filesystem;

eval::metrics_line make_line(std::int64_t step) {
    eval::metrics_line out;
    out.step = step;
    if (step > 0) {
        out.loss_released = 5 - 0.1 * static_cast<double>(step);
        out.noise_multiplier = 0.8;
        out.radii = {0.1, 0.2, 0.3};
        out.progress = {0.2 * static_cast<double>(step), step};
    }
    if (step % 5 == 0) out.eval_perplexity = 80 - static_cast<double>(step);
    return out;
}

void make_run(const fs::path& directory, const made_up& how) {
    const auto at = directory / "public";
    fs::create_directories(at);
    write_file(
        at / "config.json",
        R"({"method":{"name":"rldp"},"model":{"path":"/models/tiny-gpt2"},"data":{"path":"/secret/place/notes.jsonl"},"run":{"name":"the pilot","tags":["ward-3"],"notes":"a first try"}})");
    privacy::ledger_header header;
    header.epsilon_budget = 2.5;
    header.epsilon_guaranteed = 2;
    header.delta = 1e-6;
    header.steps = how.planned;
    header.population = 1000;
    header.sample_rate = 0.01;
    header.policy = how.cards > 0 ? "deck" : "fixed";
    for (std::size_t i = 0; i < how.cards; ++i)
        header.deck.push_back({.noise_multiplier = 0.8, .steps = how.planned / static_cast<std::int64_t>(how.cards)});
    header.accountant = "pld";
    header.unit = "record";
    header.split = "independent";
    header.data_hmac = std::string(64, 'a');
    auto ledger = privacy::ledger::create(at / "ledger.jsonl", header);
    std::vector<eval::metrics_line> lines;
    for (std::int64_t step = 0; step <= how.steps; ++step) {
        if (step > 0)
            ledger.append(step, 0.8, header.sample_rate, how.cards > 0 ? std::optional<std::size_t>(0) : std::nullopt);
        lines.push_back(make_line(step));
    }
    eval::write_metrics(at / "metrics.jsonl", lines);
    if (!how.over) return;
    eval::run_summary done;
    done.version = "0.1.0";
    done.how = eval::ending::done;
    done.steps_planned = how.planned;
    done.steps_done = how.steps;
    done.groups = {"q", "k", "v"};
    done.perplexity_before = 80;
    done.perplexity_after = 70;
    done.epsilon_budget = 2.5;
    done.epsilon_guaranteed = 2;
    done.delta = 1e-6;
    done.method = "rldp";
    done.controller = {"it was prepared"};
    done.table = {.columns = {"sex", "note"}, .rows = {{"f", "<img src=x>"}, {"m", ""}}};
    write_file(at / "summary.json", eval::to_json(done));
    write_file(at / "report.html", "<title>report</title>");
    write_file(at / "certificate.html", "<title>certificate</title>");
    write_file(at / "certificate.json", "{}");
}

}  // namespace rldp::testing

// The whole pipeline, on real threads and files.
#include <ATen/ATen.h>

#include <caf/all.hpp>
#include <cmath>
#include <fstream>

#include "actors/supervisor.hpp"
#include "base/files.hpp"
#include "bench/plain_loop.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "privacy/spending/ledger.hpp"
#include "run/artifacts/metrics.hpp"
#include "tests/actors/fixtures.hpp"
#include "tests/actors/quiet_hub.hpp"
#include "tests/actors/small_runs.hpp"
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

namespace {

/// Slope of released losses over steps, and its standard error.
std::pair<double, double> slope(const std::vector<eval::metrics_line>& lines) {
    std::vector<std::pair<double, double>> points;
    for (const auto& line : lines)
        if (line.loss_released) points.emplace_back(static_cast<double>(line.step), *line.loss_released);
    double mx = 0, my = 0;
    for (const auto& [x, y] : points) mx += x, my += y;
    const auto n = static_cast<double>(points.size());
    mx /= n, my /= n;
    double sxx = 0, sxy = 0;
    for (const auto& [x, y] : points) sxx += (x - mx) * (x - mx), sxy += (x - mx) * (y - my);
    const double b = sxy / sxx;
    double rest = 0;
    for (const auto& [x, y] : points) rest += std::pow(y - my - b * (x - mx), 2);
    return {b, std::sqrt(rest / (n - 2) / sxx)};
}

}  // namespace

TEST_CASE("demo: on three seeds the model learns, every adapter moves, and the contract holds", "[full]") {
    for (const auto* seed : {"seed=1", "seed=2", "seed=3"}) {
        INFO(seed);
        scratch_directory scratch;
        // The embedded default, shortened: a third of its steps, shorter records.
        const auto config =
            config::load("config/demo.json", {seed, "train.steps=48", "data.max_tokens=96", "train.eval_every=24"});
        const auto summary = run_quietly(config, scratch / "run");
        CHECK(summary.how == eval::ending::done);
        CHECK(summary.steps_done == 48);
        CHECK(summary.epsilon_guaranteed <= 8);
        CHECK(summary.epsilon_guaranteed > 7.9);
        REQUIRE(summary.perplexity_after);
        CHECK(*summary.perplexity_after < 0.9 * summary.perplexity_before);

        const auto lines = eval::read_metrics(scratch / "run/public/metrics.jsonl");
        const auto [b, deviation] = slope(lines);
        CHECK(b + 1.645 * deviation < 0);
        const auto mean = [&](std::int64_t from, std::int64_t to) {
            double sum = 0, count = 0;
            for (const auto& line : lines)
                if (line.loss_released && line.step > from && line.step <= to) sum += *line.loss_released, ++count;
            return sum / count;
        };
        CHECK(mean(0, 16) > mean(16, 48));  // where nearly all is learned, what is released is mostly noise

        const auto [layout, adapter] =
            models::load_adapter(scratch / "run/public/adapter", models::read_model_config("config/tiny-gpt2"));
        CHECK(layout.pairs.size() == summary.groups.size());
        for (std::size_t i = 0; i < layout.pairs.size(); ++i) CHECK(layout.b(adapter, i).abs().max().item<float>() > 0);
        for (const auto* secret : {"run.key", "releases.log", "checkpoint.safetensors"})
            CHECK_FALSE(std::filesystem::exists(scratch / "run/trusted" / secret));
        const auto mode = std::filesystem::status(scratch / "run/trusted").permissions();
        CHECK(mode == std::filesystem::perms::owner_all);
        for (const auto& file : std::filesystem::recursive_directory_iterator(scratch / "run/trusted"))
            CHECK((file.status().permissions() & std::filesystem::perms(0077)) == std::filesystem::perms::none);
    }
}

TEST_CASE("the pipeline on threads gives the bits of the plain loop") {
    scratch_directory scratch;
    for (const auto* policy : {"fixed", "deck", "filter"}) {
        INFO(policy);
        const auto config = small({"noise.insecure_reproducible=true", std::string("noise.policy=") + policy});
        auto opened = create_run(config, scratch / (std::string("plain-") + policy));
        const auto expected = bench::run_plain(opened);
        models::save_adapter(scratch / (std::string("adapter-") + policy), opened.facts->model.layout, expected, "x",
                             opened.facts->model.base->config());
        run_quietly(config, scratch / (std::string("run-") + policy));
        const models::safetensors_file plain(scratch / (std::string("adapter-") + policy) /
                                             "adapter_model.safetensors");
        const models::safetensors_file actors_(scratch / (std::string("run-") + policy) /
                                               "public/adapter/adapter_model.safetensors");
        for (const auto& name : plain.names()) CHECK(at::equal(plain.tensor(name), actors_.tensor(name)));
    }
}

TEST_CASE("without insecure_reproducible two runs of one configuration differ: their draws and noise are secret") {
    scratch_directory scratch;
    run_quietly(small(), scratch / "a");
    run_quietly(small(), scratch / "b");
    CHECK_FALSE(at::equal(saved_adapter(scratch / "a"), saved_adapter(scratch / "b")));
}

TEST_CASE("a hub that dies ends the run: its log would stand still unnoticed") {
    scratch_directory scratch;
    auto opened = create_run(small(), scratch / "run");
    caf::actor_system_config settings;
    settings.set("logger.file-verbosity", caf::atom("quiet"));
    caf::actor_system system(settings);
    const caf::scoped_actor self(system);
    const auto hub = system.spawn([](hub_actor::pointer) {
        return make_quiet_hub(
            {.metrics = [](const auto&) { throw error(errc::bad_input, "metrics: the disk is full"); }});
    });
    const auto running = system.spawn(make_supervisor, opened, hub);
    std::optional<caf::error> failed;
    self->request(running, std::chrono::seconds(60), run_atom::value)
        .receive([](const outcome&) {}, [&](const caf::error& reason) { failed = reason; });
    REQUIRE(failed);
    self->send_exit(running, caf::exit_reason::user_shutdown);
}

TEST_CASE("as_published runs only when acknowledged, and prints the tight ε beside its own") {
    scratch_directory scratch;
    const auto summary = run_quietly(small({"privacy.semantics=as_published", "privacy.acknowledge_no_guarantee=true",
                                            "privacy.accountant=gdp_clt", "rl.clip_action=absolute"}),
                                     scratch / "run");
    REQUIRE(summary.tight_epsilon_as_released);
    CHECK(*summary.tight_epsilon_as_released > summary.epsilon_spent.at("pld"));
    REQUIRE(summary.printed_formula_epsilon);
    CHECK(*summary.printed_formula_epsilon < summary.epsilon_spent.at("pld"));
    CHECK(read_file(scratch / "run/public/report.html").find("No guarantee") != std::string::npos);
    CHECK_THROWS_AS(small({"privacy.semantics=as_published"}), error);
}

TEST_CASE("flat clipping is one group: one radius, three trackers") {
    scratch_directory scratch;
    const auto summary = run_quietly(small({"clip.groups=flat"}), scratch / "run");
    CHECK(summary.how == eval::ending::done);
    CHECK(summary.groups.size() == 1);
    for (const auto& line : eval::read_metrics(scratch / "run/public/metrics.jsonl"))
        if (line.noise_multiplier > 0) CHECK(line.radii.size() == 1);
}

TEST_CASE("patients as units: the run goes through and the ledger says so") {
    scratch_directory scratch;
    const auto summary = run_quietly(small({R"(privacy.unit={"group":"patient_nbr"})"}), scratch / "run");
    CHECK(summary.how == eval::ending::done);
    CHECK(privacy::read_ledger(scratch / "run/public/ledger.jsonl").header.unit.find("patient_nbr") !=
          std::string::npos);
}

TEST_CASE("real data: 30 steps of stories260K on the UCI table") {
    const std::filesystem::path shared = "../shared/data";
    if (!std::filesystem::exists(shared / "uci-diabetes/diabetic_data.csv")) {
        WARN("skipped: no shared data");
        return;
    }
    scratch_directory scratch;
    // The first 3,000 encounters, so that the test stays quick; all files are the real ones.
    std::ifstream table(shared / "uci-diabetes/diabetic_data.csv");
    std::ofstream head(scratch / "diabetic_data.csv");
    std::string line;
    for (int i = 0; i <= 3000 && std::getline(table, line); ++i) head << line << '\n';
    head.close();
    const auto config =
        config::load("config/diabetes-stories260k.json",
                     {"data.path=" + (scratch / "diabetic_data.csv").string(),
                      "data.ids_mapping=" + std::filesystem::absolute(shared / "uci-diabetes/IDs_mapping.csv").string(),
                      "model.path=" + std::filesystem::absolute(shared / "stories260K").string(), "train.steps=30",
                      "train.expected_batch_size=16", "train.eval_records=16", "data.max_tokens=128"});
    const auto summary = run_quietly(config, scratch / "run");
    CHECK(summary.steps_done == 30);
    CHECK(summary.epsilon_guaranteed <= 8);
    REQUIRE(summary.perplexity_after);
    CHECK(*summary.perplexity_after < summary.perplexity_before);
}

TEST_CASE("a record without anything to predict counts as zero") {
    scratch_directory scratch;
    std::string table;
    for (int i = 0; i < 40; ++i) table += "record number " + std::to_string(i) + " of the table\n";
    for (const char c : std::string("abcdefghijklmnopqrstuvwxyz")) table += std::string(1, c) + "\n";
    write_file(scratch / "table.txt", table);
    const auto summary = run_quietly(small({"data.path=" + (scratch / "table.txt").string(), "data.template=null",
                                            "train.steps=4", "train.expected_batch_size=30", "privacy.population=50"}),
                                     scratch / "run");
    CHECK(summary.how == eval::ending::done);
}

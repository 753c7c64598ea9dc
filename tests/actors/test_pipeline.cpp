// The whole pipeline, on real threads and files.
#include <ATen/ATen.h>

#include <algorithm>
#include <caf/all.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "actors/failure.hpp"
#include "actors/launch.hpp"
#include "actors/run/checkpoint.hpp"
#include "actors/supervisor.hpp"
#include "bench/plain_loop.hpp"
#include "config/base/files.hpp"
#include "config/config.hpp"
#include "eval/metrics/metrics.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "privacy/spending/ledger.hpp"
#include "privacy/spending/verify.hpp"
#include "tests/actors/fixtures.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

namespace {

config::run_config small(std::vector<std::string> more = {}) {
    std::vector<std::string> set = {"data.path=synthetic:400",     "data.max_tokens=24",  "train.steps=12",
                                    "train.expected_batch_size=6", "train.micro_batch=4", "train.eval_every=5",
                                    "train.eval_records=4",        "rl.interval=4",       "rl.warmup=4"};
    set.insert(set.end(), more.begin(), more.end());
    return config::load("config/demo.json", set);
}

eval::run_summary run_quietly(const config::run_config& config, const std::filesystem::path& directory) {
    return launch([&] { return create_run(config, directory); },
                  {.name = "test", .monitor = {}, .display = {}, .on_plan = {}, .sign = {}});
}

eval::run_summary resume_quietly(const std::filesystem::path& directory) {
    return launch([&] { return resume_run(directory); },
                  {.name = "test", .monitor = {}, .display = {}, .on_plan = {}, .sign = {}});
}

at::Tensor saved_adapter(const std::filesystem::path& run) {
    const models::safetensors_file file(run / "public/adapter/adapter_model.safetensors");
    std::vector<at::Tensor> parts;
    for (const auto& name : file.names()) parts.push_back(file.tensor(name).clone().flatten());
    return at::cat(parts);
}

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

TEST_CASE("demo: on three seeds the model learns, every adapter moves, and the contract holds") {
    for (const auto* seed : {"seed=1", "seed=2", "seed=3"}) {
        INFO(seed);
        scratch_directory scratch;
        // The embedded default, shortened: a third of its steps, shorter records.
        const auto config =
            config::load("config/demo.json", {seed, "train.steps=48", "data.max_tokens=96", "train.eval_every=24"});
        const auto summary = run_quietly(config, scratch / "run");
        CHECK(summary.status == "done");
        CHECK(summary.steps_done == 48);
        CHECK(summary.guaranteed_epsilon <= 8);
        CHECK(summary.guaranteed_epsilon > 7.9);
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
        CHECK(mean(0, 16) > mean(16, 32));
        CHECK(mean(16, 32) > mean(32, 48));

        const auto [layout, adapter] =
            models::load_adapter(scratch / "run/public/adapter", models::read_model_config("config/tiny-gpt2"));
        CHECK(layout.pairs.size() == summary.groups.size());
        for (std::size_t i = 0; i < layout.pairs.size(); ++i) CHECK(layout.b(adapter, i).abs().max().item<float>() > 0);
        for (const auto* secret : {"run.key", "releases.log", "checkpoint.safetensors"})
            CHECK_FALSE(std::filesystem::exists(scratch / "run/trusted" / secret));
        const auto mode = std::filesystem::status(scratch / "run/trusted").permissions();
        CHECK(mode == std::filesystem::perms::owner_all);
    }
}

TEST_CASE("the pipeline on threads gives the bits of the plain loop") {
    scratch_directory scratch;
    for (const auto* policy : {"fixed", "deck", "filter"}) {
        INFO(policy);
        const auto config = small({"noise.insecure_reproducible=true", std::string("noise.policy=") + policy});
        auto opened = create_run(config, scratch / (std::string("plain-") + policy));
        const auto expected = bench::run_plain(opened.open, opened.closed);
        models::save_adapter(scratch / (std::string("adapter-") + policy), opened.open.model.layout, expected, "x",
                             opened.open.model.base->config());
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

TEST_CASE("a run that stopped between steps goes on to the bits of one that did not") {
    scratch_directory scratch;
    const auto config = small({"noise.insecure_reproducible=true"});
    run_quietly(config, scratch / "whole");
    // A run whose process died after step 7: checkpoint of step 5, two logged releases.
    {
        auto opened = create_run(config, scratch / "cut");
        bench::run_plain(opened.open, opened.closed, 7);
    }
    const auto summary = resume_quietly(scratch / "cut");
    CHECK(summary.steps_lost == 0);
    CHECK(summary.steps_done == 12);
    CHECK(at::equal(saved_adapter(scratch / "cut"), saved_adapter(scratch / "whole")));
    const auto book = privacy::read_ledger(scratch / "cut/public/ledger.jsonl");
    CHECK(book.charges.size() == 12);
    CHECK(eval::read_metrics(scratch / "cut/public/metrics.jsonl").size() >= 12);
}

TEST_CASE("a charge without a logged release is lost, stays charged and is never computed again") {
    scratch_directory scratch;
    const auto config = small();
    {
        auto opened = create_run(config, scratch / "run");
        bench::run_plain(opened.open, opened.closed, 6);
        REQUIRE(opened.open.account.grant(7, opened.open.steps.training().requested_noise_multiplier()));
    }
    const auto summary = resume_quietly(scratch / "run");
    CHECK(summary.steps_lost == 1);
    CHECK(summary.steps_done == 12);
    CHECK(privacy::read_ledger(scratch / "run/public/ledger.jsonl").charges.size() == 12);
}

TEST_CASE("a charge torn at a block's end is lost, and the decision after it is made once, whenever one looks") {
    scratch_directory scratch;
    const auto ledger = eval::run_directory{scratch / "run"}.ledger();
    {
        auto opened = create_run(small({"train.eval_every=100"}), scratch / "run");
        bench::run_plain(opened.open, opened.closed, 7);
        REQUIRE(opened.open.account.grant(8, opened.open.steps.training().requested_noise_multiplier()));
    }
    std::filesystem::resize_file(ledger, std::filesystem::file_size(ledger) - 10);
    REQUIRE(privacy::read_ledger(ledger).torn);
    const auto shown = [](const session& run) {
        std::string out;
        for (const auto& line : run.known) out += eval::to_json(line) + "\n";
        return out;
    };
    std::string before;
    std::vector<double> radii;
    double requested = 0;
    {
        const auto mended = resume_run(scratch / "run");  // charges step 8 again
        CHECK(mended.open.steps.training().step() == 8);
        CHECK(mended.open.steps.training().lost() == 1);
        before = shown(mended.open);
        radii = mended.open.steps.training().radii();
        requested = mended.open.steps.training().requested_noise_multiplier();
    }
    CHECK_FALSE(privacy::read_ledger(ledger).torn);
    const auto again = resume_run(scratch / "run");
    CHECK(again.open.steps.training().lost() == 1);
    CHECK(shown(again.open) == before);
    CHECK(again.open.steps.training().radii() == radii);
    CHECK(again.open.steps.training().requested_noise_multiplier() == requested);
}

TEST_CASE("what does not belong together is not resumed, and both sides are named") {
    scratch_directory scratch;
    { create_run(small(), scratch / "run"); }
    CHECK(refusal([&] { create_run(small(), scratch / "run"); }).find("--resume") != std::string::npos);

    const auto path = eval::run_directory{scratch / "run"}.config();
    const auto original = read_file(path);
    auto other_rate = original;
    other_rate.replace(other_rate.find("\"lr\": 0.005"), 11, "\"lr\": 0.009");
    write_file(path, other_rate);
    CHECK(refusal([&] { resume_run(scratch / "run"); }).find("checkpoint.safetensors") != std::string::npos);

    auto other_data = original;
    other_data.replace(other_data.find("synthetic:400"), 13, "synthetic:401");
    write_file(path, other_data);
    CHECK(refusal([&] { resume_run(scratch / "run"); }).find("training data") != std::string::npos);

    write_file(path, original);
    CHECK_NOTHROW(resume_run(scratch / "run"));
    CHECK(refusal([&] { resume_run(scratch / "nowhere"); }).find("holds no run") != std::string::npos);
}

TEST_CASE(
    "a ledger that was cut behind the checkpoint or the release log is refused, or its draws would be made twice") {
    scratch_directory scratch;
    for (const std::size_t left : {3U, 6U}) {  // the checkpoint was written after charge 5, release 7 is logged
        const auto directory = scratch / ("run" + std::to_string(left));
        {
            auto opened = create_run(small(), directory);
            bench::run_plain(opened.open, opened.closed, 7);
        }
        const auto ledger = eval::run_directory{directory}.ledger();
        auto text = read_file(ledger);
        std::size_t end = 0;
        for (std::size_t line = 0; line <= left; ++line) end = text.find('\n', end) + 1;
        write_file(ledger, text.substr(0, end));
        const auto said = refusal([&] { resume_run(directory); });
        CHECK(said.find("ledger.jsonl") + said.find("releases.log") != std::string::npos);
        CHECK(said.find(left < 5 ? "written after charge 5" : "release 7 (step 7) was never charged") !=
              std::string::npos);
    }
}

namespace {

/// The embedded model in a directory of its own, one tensor changed.
template <class Change>
void change_model(const std::filesystem::path& directory, const std::string& name, Change change) {
    std::filesystem::create_directories(directory);
    std::filesystem::copy("config/tiny-gpt2", directory,
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
    std::map<std::string, at::Tensor> tensors;
    {
        const models::safetensors_file file(directory / "model.safetensors");
        for (const auto& each : file.names()) tensors[each] = file.tensor(each).clone();
    }
    change(tensors.at(name));
    models::save_safetensors(directory / "model.safetensors", tensors);
}

}  // namespace

TEST_CASE(
    "a base that no budget can train is refused before anything is charged, and a run goes on with its own base only") {
    scratch_directory scratch;
    const auto base = scratch / "base";
    const auto config = small({"model.path=" + base.string()});
    const std::string weight = "transformer.h.0.mlp.c_fc.weight";
    change_model(base, weight, [](at::Tensor& w) { w[0][0] = std::nan(""); });
    CHECK(refusal([&] { create_run(config, scratch / "run"); }).find("not finite") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(scratch / "run"));

    change_model(base, weight, [](at::Tensor&) {});
    { create_run(config, scratch / "run"); }
    CHECK_NOTHROW(resume_run(scratch / "run"));
    change_model(base, weight, [](at::Tensor& w) { w[0][0] += 0.5; });
    CHECK(refusal([&] { resume_run(scratch / "run"); }).find(base.string()) != std::string::npos);
}

TEST_CASE("a run directory is made beside its place and leaves others alone") {
    scratch_directory scratch;
    std::filesystem::create_directories(scratch / "run.partial");
    write_file(scratch / "run.partial/precious", "x");
    { create_run(small(), scratch / "run"); }
    CHECK(read_file(scratch / "run.partial/precious") == "x");
    CHECK(std::distance(std::filesystem::directory_iterator(scratch / "."), {}) == 2);
    CHECK_THROWS_AS(create_run(small({"data.path=nowhere.csv"}), scratch / "other"), error);
    CHECK(std::distance(std::filesystem::directory_iterator(scratch / "."), {}) == 2);
}

TEST_CASE("a hub that dies ends the run: its log would stand still unnoticed") {
    scratch_directory scratch;
    auto opened = create_run(small(), scratch / "run");
    caf::actor_system_config settings;
    settings.set("logger.file-verbosity", caf::atom("quiet"));
    caf::actor_system system(settings);
    const caf::scoped_actor self(system);
    const auto hub = system.spawn([](hub_actor::pointer) -> hub_actor::behavior_type {
        return {
            [](subscribe_atom, const display_actor&) { return telemetry{}; },
            [](ack_atom) {},
            [](begin_atom, const run_header&) {},
            [](metrics_atom, const eval::metrics_line&) { throw error(errc::bad_input, "metrics: the disk is full"); },
            [](evaluate_atom, std::int64_t, double) {},
            [](sync_atom) {},
            [](finish_atom, const std::string&) {},
            [](tick_atom) {}};
    });
    const auto running =
        system.spawn(supervisor, std::make_shared<session>(std::move(opened.open)), opened.closed, hub);
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
    CHECK(*summary.tight_epsilon_as_released > summary.epsilon.at("pld"));
    REQUIRE(summary.printed_formula_epsilon);
    CHECK(*summary.printed_formula_epsilon < summary.epsilon.at("pld"));
    CHECK(read_file(scratch / "run/public/report.html").find("No guarantee") != std::string::npos);
    CHECK_THROWS_AS(small({"privacy.semantics=as_published"}), error);
}

TEST_CASE("every method runs, spends the budget, and resumes to the bits of an uninterrupted run") {
    for (const std::string name : {"rldp", "static", "adaclip", "autoclip_quantile", "auto_s", "dcsgd_p", "dcsgd_e",
                                   "geoclip", "psac", "dp_lora", "dp_lora_literal"}) {
        INFO(name);
        scratch_directory scratch;
        const auto config = small({"noise.insecure_reproducible=true", "method.name=" + name});
        auto whole = create_run(config, scratch / "whole");
        const auto expected = bench::run_plain(whole.open, whole.closed);
        {
            auto cut = create_run(config, scratch / "cut");
            bench::run_plain(cut.open, cut.closed, 7);  // a checkpoint at 5, two releases in the log
        }
        const auto summary = resume_quietly(scratch / "cut");
        CHECK(summary.status == "done");
        CHECK(summary.guaranteed_epsilon > 7.9);
        models::save_adapter(scratch / "adapter", whole.open.model.layout, expected, "x",
                             whole.open.model.base->config());
        const models::safetensors_file a(scratch / "adapter/adapter_model.safetensors");
        const models::safetensors_file b(scratch / "cut/public/adapter/adapter_model.safetensors");
        for (const auto& tensor : a.names()) CHECK(at::equal(a.tensor(tensor), b.tensor(tensor)));
        // Only RLDP's statistics speak of a loss.
        for (const auto& line : eval::read_metrics(scratch / "cut/public/metrics.jsonl"))
            CHECK((line.step == 0 || line.loss_released.has_value() == (name == "rldp")));
    }
}

TEST_CASE("a method whose question would take the whole noise multiplier is refused before anything is charged") {
    scratch_directory scratch;
    const auto wrong = [&](const char* how) {
        return refusal([&] { create_run(small({"method.name=autoclip_quantile", how}), scratch / "run"); });
    };
    CHECK(wrong("method.query_noise=0.1").find("leaves nothing") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(scratch / "run"));
}

TEST_CASE("radii from public data are there from the first step, and are the same again") {
    scratch_directory scratch;
    const auto config = small({"clip.public_data=synthetic:60", "rl.actions=[\"noise\"]"});
    const auto first = create_run(config, scratch / "a"), second = create_run(config, scratch / "b");
    const auto radii = first.open.steps.training().radii();
    CHECK(radii == second.open.steps.training().radii());
    CHECK(radii.size() == first.open.model.layout.pairs.size());
    for (const double radius : radii) CHECK((radius > 0 && radius != 0.1));
    CHECK(refusal([&] {
              create_run(small({"clip.public_data=synthetic:4"}), scratch / "c");
          }).find("clip.public_data") != std::string::npos);
}

TEST_CASE("flat clipping is one group: one radius, three trackers") {
    scratch_directory scratch;
    const auto summary = run_quietly(small({"clip.groups=flat"}), scratch / "run");
    CHECK(summary.status == "done");
    CHECK(summary.groups.size() == 1);
    for (const auto& line : eval::read_metrics(scratch / "run/public/metrics.jsonl"))
        if (line.noise_multiplier > 0) CHECK(line.radii.size() == 1);
}

TEST_CASE("patients as units: the run goes through and the ledger says so") {
    scratch_directory scratch;
    const auto summary = run_quietly(small({R"(privacy.unit={"group":"patient_nbr"})"}), scratch / "run");
    CHECK(summary.status == "done");
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
    CHECK(summary.guaranteed_epsilon <= 8);
    REQUIRE(summary.perplexity_after);
    CHECK(*summary.perplexity_after < summary.perplexity_before);
}

TEST_CASE("a tokenizer that can give ids beyond the model's vocabulary is refused, whatever the records hold") {
    scratch_directory scratch;
    const auto base = scratch / "base";
    change_model(base, "transformer.h.0.mlp.c_fc.weight", [](at::Tensor&) {});
    const auto config = small({"model.path=" + base.string()});
    CHECK_NOTHROW(check(config));
    auto tokenizer = nlohmann::json::parse(read_file(base / "tokenizer.json"));
    const auto vocabulary = models::read_model_config(base).vocab;
    tokenizer["added_tokens"].push_back({{"id", vocabulary},
                                         {"content", "<|never in a record|>"},
                                         {"single_word", false},
                                         {"lstrip", false},
                                         {"rstrip", false},
                                         {"normalized", false},
                                         {"special", true}});
    write_file(base / "tokenizer.json", tokenizer.dump());
    CHECK(refusal([&] { check(config); }).find("added tokens") != std::string::npos);
    CHECK(refusal([&] { create_run(config, scratch / "run"); }).find("added tokens") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(scratch / "run"));
}

TEST_CASE("two processes that go on from one state share neither noise nor draws") {
    scratch_directory scratch;
    {
        auto opened = create_run(small(), scratch / "a");
        bench::run_plain(opened.open, opened.closed, 6);  // a checkpoint at 5
    }
    std::filesystem::copy(scratch / "a", scratch / "b", std::filesystem::copy_options::recursive);
    const auto releases = [&](const char* name) {
        auto opened = resume_run(scratch / name);
        bench::run_plain(opened.open, opened.closed, 9);
        const eval::run_directory where{scratch / name};
        return privacy::release_log::read(where.releases(), opened.open.seal, opened.open.account.book());
    };
    const auto a = releases("a"), b = releases("b");
    REQUIRE(a.size() == b.size());
    std::size_t compared = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(a[i].charged->seq == b[i].charged->seq);
        if (a[i].charged->seq <= 6) continue;  // made before the fork
        // Independent noise of one size differs by √2 of it; shared noise by next to nothing.
        const auto x = a[i].gradient.to(at::kDouble), y = b[i].gradient.to(at::kDouble);
        const double apart = (x - y).norm().item<double>() / x.norm().item<double>();
        CHECK(apart > 1.2);
        CHECK(apart < 1.7);
        ++compared;
    }
    CHECK(compared == 3);
}

TEST_CASE("with a declared N, what is printed of the plan says nothing exact about the data") {
    const auto printed = [](const char* data) {
        const auto config = small({"privacy.population=300", data});
        return to_json(check(config), false);
    };
    const auto one = printed("data.path=synthetic:400");
    auto other = printed("data.path=synthetic:300");
    for (auto at = other.find("synthetic:300"); at != std::string::npos; at = other.find("synthetic:300"))
        other.replace(at, 13, "synthetic:400");  // the path, which the configuration names
    CHECK(one == other);
    CHECK(one.find("private") == std::string::npos);
    const auto config = small({"privacy.population=300"});
    const auto counts = nlohmann::json::parse(to_json(check(config), true)).at("private_counts");
    CHECK(counts.at("units").get<int>() > 200);
    CHECK(counts.at("records") == counts.at("units"));
}

TEST_CASE("what remains under trusted/ names the data under a salt of its own") {
    scratch_directory scratch;
    const auto config = small({"train.steps=2"});
    run_quietly(config, scratch / "a");
    run_quietly(config, scratch / "b");
    const auto digest = load_records(config).corpus.digest;
    const auto a = eval::read_membership(scratch / "a/trusted/membership.json");
    const auto b = eval::read_membership(scratch / "b/trusted/membership.json");
    CHECK(a.data_hmac != b.data_hmac);
    CHECK(a.data_hmac == eval::data_hmac(a.salt, digest));
    for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch / "a"))
        if (entry.is_regular_file()) CHECK(read_file(entry.path()).find(digest) == std::string::npos);
}

TEST_CASE("public data that share records with the table are refused") {
    scratch_directory scratch;
    std::string table, others;
    for (int i = 0; i < 60; ++i) {
        table += "record number " + std::to_string(i) + " of the table\n";
        others += "a public sentence, number " + std::to_string(i) + "\n";
    }
    write_file(scratch / "table.txt", table);
    write_file(scratch / "public.txt", others);
    write_file(scratch / "mixed.txt", others + "record number 7 of the table\n");
    std::filesystem::create_symlink(scratch / "table.txt", scratch / "link.txt");
    const auto said = [&](const char* name) {
        return refusal([&] {
            check(config::load("config/demo.json",
                               {"data.path=" + (scratch / "table.txt").string(), "data.template=null",
                                "train.expected_batch_size=6", "clip.public_data=" + (scratch / name).string()}));
        });
    };
    CHECK(said("public.txt").empty());
    for (const auto* name : {"table.txt", "link.txt", "mixed.txt"}) {
        CHECK(said(name).find("clip.public_data") != std::string::npos);
        CHECK(said(name).find("number 7") == std::string::npos);
    }
}

TEST_CASE("padding pays for larger draws within a hundredth of δ") {
    const auto config = small({"privacy.pad_batches=true", "privacy.population=300", "train.expected_batch_size=30"});
    const auto plan = check(config);
    REQUIRE(plan.padded);
    CHECK(plan.padded->units > 30);
    CHECK(plan.padded->units < 120);
    CHECK(plan.padded->delta > 0);
    CHECK(plan.padded->delta <= 1e-7);
    CHECK(plan.padded->shape.tokens == 24);
    // One unit of room less would cost more than that.
    const auto without = check(small({"privacy.population=300", "train.expected_batch_size=30"}));
    CHECK(plan.noise_multiplier > without.noise_multiplier);
    CHECK(plan.noise_multiplier < 1.01 * without.noise_multiplier);

    scratch_directory scratch;
    const auto summary = run_quietly(config, scratch / "run");
    CHECK(summary.status == "done");
    const auto header = privacy::read_ledger(scratch / "run/public/ledger.jsonl").header;
    CHECK(header.padding_delta == plan.padded->delta);
    CHECK(header.delta == 1e-5);
    CHECK_NOTHROW(privacy::verify(privacy::read_ledger(scratch / "run/public/ledger.jsonl")));

    // A refusal would tell how many units there are.
    CHECK(check(small({"privacy.pad_batches=true", "privacy.population=30"})).population == 30);
    CHECK(refusal([&] {
              check(small({"privacy.pad_batches=true", "privacy.population=300", "data.max_tokens=256",
                           "train.micro_batch=65536"}));
          }).find("MiB") != std::string::npos);
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
    CHECK(summary.status == "done");
}

// Runs that stopped and go on.
#include <ATen/ATen.h>

#include "base/files.hpp"
#include "bench/plain_loop.hpp"
#include "config/methods.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "privacy/spending/book.hpp"
#include "privacy/spending/ledger.hpp"
#include "run/artifacts/metrics.hpp"
#include "tests/actors/fixtures.hpp"
#include "tests/actors/small_runs.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

TEST_CASE("a run that stopped between steps goes on to the bits of one that did not") {
    scratch_directory scratch;
    const auto config = small({"noise.insecure_reproducible=true"});
    run_quietly(config, scratch / "whole");
    // A run whose process died after step 7: checkpoint of step 5, two logged releases.
    {
        auto opened = create_run(config, scratch / "cut");
        bench::run_plain(opened, 7);
    }
    const auto summary = resume_quietly(scratch / "cut");
    CHECK(summary.steps_lost == 0);
    CHECK(summary.steps_done == 12);
    CHECK(at::equal(saved_adapter(scratch / "cut"), saved_adapter(scratch / "whole")));
    const auto ledger = privacy::read_ledger(scratch / "cut/public/ledger.jsonl");
    CHECK(ledger.charges.size() == 12);
    CHECK(eval::read_metrics(scratch / "cut/public/metrics.jsonl").size() >= 12);
}

TEST_CASE("two directories that go on from one run are two runs in the budget book") {
    scratch_directory scratch;
    const auto place = scratch / "book";
    const auto total = [&](double epsilon) {
        privacy::set_total(place, {.epsilon_budget = epsilon, .delta = 1e-3, .unit = "record"});
    };
    total(2.5);
    {
        auto opened = create_run(small({"privacy.epsilon=2", "privacy.book=" + place.string()}), scratch / "f");
        bench::run_plain(opened, 3);
    }
    std::filesystem::copy(scratch / "f", scratch / "f2", std::filesystem::copy_options::recursive);
    CHECK(resume_quietly(scratch / "f").steps_done == 12);
    CHECK(privacy::read_book(place).runs.size() == 1);
    const auto line = refusal([&] { resume_run(scratch / "f2"); });
    CHECK(line.find("which as a copy of " + (scratch / "f").string()) != std::string::npos);
    CHECK(line.find("2 runs come to ε = 4") != std::string::npos);
    CHECK(privacy::read_ledger(scratch / "f2/public/ledger.jsonl").charges.size() == 3);
    total(4.5);
    CHECK(resume_quietly(scratch / "f2").steps_done == 12);
    CHECK(privacy::read_book(place).runs.size() == 2);
}

TEST_CASE("a charge without a logged release is lost, stays charged and is never computed again") {
    scratch_directory scratch;
    const auto config = small();
    {
        auto opened = create_run(config, scratch / "run");
        bench::run_plain(opened, 6);
        REQUIRE(opened.parts.budget->grant(7, opened.parts.steps->training().requested_noise_multiplier()));
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
        bench::run_plain(opened, 7);
        REQUIRE(opened.parts.budget->grant(8, opened.parts.steps->training().requested_noise_multiplier()));
    }
    std::filesystem::resize_file(ledger, std::filesystem::file_size(ledger) - 10);
    REQUIRE(privacy::read_ledger(ledger).torn);
    const auto shown = [](const session& run) { return read_file(run.where.metrics()); };
    std::string before;
    std::vector<double> radii;
    double requested = 0;
    {
        const auto mended = resume_run(scratch / "run");  // charges step 8 again
        CHECK(mended.parts.steps->training().step() == 8);
        CHECK(mended.parts.steps->training().lost() == 1);
        before = shown(*mended.facts);
        radii = mended.parts.steps->training().radii();
        requested = mended.parts.steps->training().requested_noise_multiplier();
    }
    CHECK_FALSE(privacy::read_ledger(ledger).torn);
    const auto again = resume_run(scratch / "run");
    CHECK(again.parts.steps->training().lost() == 1);
    CHECK(shown(*again.facts) == before);
    CHECK(again.parts.steps->training().radii() == radii);
    CHECK(again.parts.steps->training().requested_noise_multiplier() == requested);
}

TEST_CASE("what does not belong together is not resumed, and both sides are named") {
    scratch_directory scratch;
    { create_run(small(), scratch / "run"); }
    CHECK(refusal([&] { create_run(small(), scratch / "run"); }).find("--resume") != std::string::npos);

    const auto path = eval::run_directory{scratch / "run"}.config();
    const auto original = read_file(path);
    auto other_rate = original;
    other_rate.replace(other_rate.find("\"lr\": 0.02"), 10, "\"lr\": 0.03");
    write_file(path, other_rate);
    CHECK(refusal([&] { resume_run(scratch / "run"); }).find("checkpoint.safetensors") != std::string::npos);

    auto other_data = original;
    other_data.replace(other_data.find("synthetic:400"), 13, "synthetic:401");
    write_file(path, other_data);
    CHECK(refusal([&] { resume_run(scratch / "run"); }).find("training data") != std::string::npos);

    write_file(path, original);
    const auto places = eval::run_directory{scratch / "run"}.places();
    const auto own = read_file(places);
    write_file(places, own + "train.lr=0.03" + std::string(1, '\0'));
    CHECK(refusal([&] { resume_run(scratch / "run"); }).find("trusted/places") != std::string::npos);

    write_file(places, own);
    CHECK_NOTHROW(resume_run(scratch / "run"));
    CHECK(refusal([&] { resume_run(scratch / "nowhere"); }).find("holds no run") != std::string::npos);
}

TEST_CASE("a resume reads weights again where their files were touched, and goes on only with the same numbers") {
    scratch_directory scratch;
    const auto model = scratch / "model", weights = model / "model.safetensors";
    std::filesystem::copy("config/tiny-gpt2", model);
    const auto config = small({"noise.insecure_reproducible=true", "model.path=" + model.string()});
    run_quietly(config, scratch / "whole");
    const auto cut = [&](const std::string& name) {
        auto opened = create_run(config, scratch / name);
        bench::run_plain(opened, 7);
        return scratch / name;
    };
    const auto untouched = cut("untouched"), touched = cut("touched"), verified = cut("verified");

    { const auto read = resume_run(verified, {.verify_model = true}); }
    resume_quietly(untouched);
    const auto original = read_file(weights);
    write_file(weights, original);  // another time
    resume_quietly(touched);
    for (const auto& run : {untouched, touched}) CHECK(at::equal(saved_adapter(run), saved_adapter(scratch / "whole")));

    // One bit of one weight, size and time of writing as before: the time of change tells.
    const auto written = std::filesystem::last_write_time(weights);
    auto other = original;
    other.back() = static_cast<char>(other.back() ^ 1);
    write_file(weights, other);
    std::filesystem::last_write_time(weights, written);
    CHECK(refusal([&] { resume_run(verified); }).find("checkpoint.safetensors") != std::string::npos);
}

TEST_CASE("every method runs, spends the budget, and resumes to the bits of an uninterrupted run", "[full]") {
    for (const auto& row : config::methods()) {
        const auto& name = row.name;
        INFO(name);
        scratch_directory scratch;
        const auto config = small({"noise.insecure_reproducible=true", "method.name=" + name, "train.warmup=4"});
        auto whole = create_run(config, scratch / "whole");
        const auto expected = bench::run_plain(whole);
        {
            auto cut = create_run(config, scratch / "cut");
            bench::run_plain(cut, 7);  // a checkpoint at 5, two releases in the log
        }
        const auto summary = resume_quietly(scratch / "cut");
        CHECK(summary.how == eval::ending::done);
        CHECK(summary.epsilon_guaranteed > 7.9);
        models::save_adapter(scratch / "adapter", whole.facts->model.layout, expected, "x",
                             whole.facts->model.base->config());
        const models::safetensors_file a(scratch / "adapter/adapter_model.safetensors");
        const models::safetensors_file b(scratch / "cut/public/adapter/adapter_model.safetensors");
        for (const auto& tensor : a.names()) CHECK(at::equal(a.tensor(tensor), b.tensor(tensor)));
        // Only RLDP's statistics speak of a loss.
        for (const auto& line : eval::read_metrics(scratch / "cut/public/metrics.jsonl"))
            CHECK((line.step == 0 || line.loss_released.has_value() == (name == "rldp")));
    }
}

TEST_CASE("under a prepared controller a run resumes to the bits and the lines of one that did not stop") {
    scratch_directory scratch;
    const auto config = small_prepared(scratch / "policy.safetensors", true, {"noise.insecure_reproducible=true"});
    run_quietly(config, scratch / "whole");
    const auto steered = [&](const char* name) {
        std::vector<std::string> out;
        for (const auto& line : eval::read_metrics(scratch / name / "public/metrics.jsonl"))
            if (line.step > 0) out.push_back(eval::to_json(line));
        return out;
    };
    const auto lines = steered("whole");
    REQUIRE(lines.size() == 12);
    CHECK(lines[3].find("steered") == std::string::npos);
    CHECK(lines[4].find("steered") != std::string::npos);
    for (const std::int64_t stop : {3, 4, 7, 8, 11}) {
        const auto name = "cut" + std::to_string(stop);
        {
            auto opened = create_run(config, scratch / name);
            bench::run_plain(opened, stop);
        }
        resume_quietly(scratch / name);
        CHECK(at::equal(saved_adapter(scratch / name), saved_adapter(scratch / "whole")));
        CHECK(steered(name.c_str()) == lines);
    }
}

TEST_CASE("a look that was made is not made again, one that was cut is lost, and one not charged is still to come") {
    scratch_directory scratch;
    const auto config = small({"eval.looks=4"});  // at 0, 4, 8 and 12; a checkpoint after 5
    for (const bool charged : {true, false}) {
        const eval::run_directory where{scratch / (charged ? "charged" : "not")};
        {
            auto opened = create_run(config, where.root);
            bench::run_plain(opened, 8);
        }
        const auto find_logged_line = [&](std::int64_t step) {
            for (const auto& line : eval::read_metrics(where.metrics()))
                if (line.step == step && line.eval_perplexity) return eval::to_json(line);
            return std::string();
        };
        const auto fourth = find_logged_line(4);
        REQUIRE_FALSE(fourth.empty());
        std::filesystem::remove(where.looks());  // killed before the look at step 8 was logged
        if (!charged) {                          // or before it was charged
            const auto ledger = read_file(where.ledger());
            write_file(where.ledger(), ledger.substr(0, ledger.rfind('\n', ledger.size() - 2) + 1));
            REQUIRE(privacy::read_ledger(where.ledger()).looks.size() == 2);
        }
        CHECK(resume_quietly(where.root).how == eval::ending::done);
        std::vector<std::int64_t> looked;
        for (const auto& look : privacy::read_ledger(where.ledger()).looks) looked.push_back(look->step);
        CHECK(looked == std::vector<std::int64_t>{0, 4, 8, 12});
        CHECK(find_logged_line(4) == fourth);  // as the run log has it
        CHECK(find_logged_line(8).empty() == charged);
        CHECK_FALSE(find_logged_line(12).empty());
    }
}

TEST_CASE("looks of another run are refused") {
    scratch_directory scratch;
    for (const char* name : {"run", "other"}) {
        auto opened = create_run(small(), scratch / name);
        bench::run_plain(opened, 7);
    }
    const eval::run_directory where{scratch / "run"}, other{scratch / "other"};
    std::filesystem::copy_file(other.looks(), where.looks(), std::filesystem::copy_options::overwrite_existing);
    CHECK(has(refusal([&] { resume_run(where.root); }), "looks.safetensors: is not as this run wrote it"));
}

TEST_CASE("a controller that learns in the run resumes to the bits of one that did not stop", "[full]") {
    scratch_directory scratch;
    const std::vector<std::string> online = {"noise.insecure_reproducible=true", "public.path=synthetic:60",
                                             "public.steps=3", "rl.online=true", "train.steps=60"};
    const auto config = small_prepared(scratch / "policy.safetensors", true, online);
    run_quietly(config, scratch / "whole");
    auto still = config;
    still.rl.online = false;
    run_quietly(still, scratch / "still");
    CHECK_FALSE(at::equal(saved_adapter(scratch / "still"), saved_adapter(scratch / "whole")));
    for (const std::int64_t stop : {40, 43}) {  // it has learned from ten decisions, of which eight make a batch
        const auto name = "cut" + std::to_string(stop);
        {
            auto opened = create_run(config, scratch / name);
            bench::run_plain(opened, stop);
        }
        resume_quietly(scratch / name);
        CHECK(at::equal(saved_adapter(scratch / name), saved_adapter(scratch / "whole")));
    }
}

TEST_CASE("a run does not go on under another policy") {
    scratch_directory scratch;
    const auto policy = scratch / "policy.safetensors";
    { create_run(small_prepared(policy), scratch / "run"); }
    small_prepared(policy, false);  // writes another one
    CHECK(has(refusal([&] { resume_run(scratch / "run"); }), "one of them was changed"));
}

TEST_CASE("whatever else a run does, it resumes to the bits of an uninterrupted run", "[full]") {
    const std::vector<std::vector<std::string>> ways = {
        {"public.path=synthetic:60", "public.steps=3"},
        {"public.path=synthetic:60", "public.steps=3", "public.use=[\"radii\"]", "method.name=rldp"},
        {"train.schedule=cosine"},
        {"train.schedule=wsd"},
        {"train.average=ema", "train.average_window=0.3", "train.schedule=linear"},
        {"train.average=tail", "train.average_window=0.3"},
        {"train.average=tail", "public.path=synthetic:60", "public.steps=3", "public.use=[\"choose\"]"},
        {"train.value_weight=3"}};
    for (const auto& way : ways) {
        INFO(way.front() << " " << way.back());
        std::vector<std::string> set{"noise.insecure_reproducible=true", "method.name=static"};
        set.insert(set.end(), way.begin(), way.end());
        const auto config = small(set);
        scratch_directory scratch;
        CHECK(run_quietly(config, scratch / "whole").how == eval::ending::done);
        {
            auto cut = create_run(config, scratch / "cut");
            bench::run_plain(cut, 7);  // a checkpoint at 5, two releases in the log
        }
        CHECK(resume_quietly(scratch / "cut").how == eval::ending::done);
        CHECK(at::equal(saved_adapter(scratch / "whole"), saved_adapter(scratch / "cut")));
        CHECK_FALSE(std::filesystem::exists(eval::run_directory{scratch / "cut"}.lessons()));
    }
}

TEST_CASE("two processes that go on from one state share neither noise nor draws") {
    scratch_directory scratch;
    {
        auto opened = create_run(small(), scratch / "a");
        bench::run_plain(opened, 6);  // a checkpoint at 5
    }
    std::filesystem::copy(scratch / "a", scratch / "b", std::filesystem::copy_options::recursive);
    const auto releases = [&](const char* name) {
        auto opened = resume_run(scratch / name);
        bench::run_plain(opened, 9);
        const eval::run_directory where{scratch / name};
        return privacy::release_log::read(where.releases(), opened.facts->seal, opened.parts.budget->ledger_view());
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

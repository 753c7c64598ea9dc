// rldp compare --protocol on two machines, and rldp plan, as a user calls them.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/app/program.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// The demo, a hundredth as long.
json short_run() {
    auto out = json::parse(rldp::read_file("config/demo.json"));
    out["model"]["path"] = fs::absolute("config/tiny-gpt2").string();
    out["data"] = {{"path", "synthetic:200"},
                   {"template", fs::absolute("config/narrative-uci.json").string()},
                   {"max_tokens", 32}};
    out["train"].update({{"steps", 3}, {"warmup", 0}, {"expected_batch_size", 8}, {"eval_records", 8}});
    out["rl"] = {{"warmup", 1}, {"interval", 1}};
    out.erase("$schema");
    out.erase("monitor");
    return out;
}

struct study {
    scratch_directory scratch;

    study() {
        rldp::write_file(scratch / "base.json", short_run().dump());
        rldp::write_file(
            scratch / "protocol.json",
            json{{"base", "base.json"},
                 {"measure", "perplexity"},
                 {"epsilons", {8}},
                 {"seeds", {0, 1}},
                 {"arms", {{"static", {{"set", {{"method.name", "static"}}}}}, {"rldp", {{"set", json::object()}}}}},
                 {"tuning",
                  {{"set", {{"data.path", "synthetic:100"}}},
                   {"seeds", {100}},
                   {"trials", 2},
                   {"axes", {{"train.lr", {0.001, 0.01}}}}}},
                 {"ours", "rldp"}}
                .dump());
    }

    std::string at(const std::string& name) const { return (scratch / name).string(); }
    answer compare(const std::string& more) const {
        return rldp_says("compare --quiet --json --protocol " + at("protocol.json") + " " + more, scratch / ".");
    }
};

std::size_t done(const json& report, const std::string& stage) {
    const auto& cells = report.at("cells");
    return static_cast<std::size_t>(std::count_if(cells.begin(), cells.end(), [&](const json& one) {
        return one.at("values").at("stage") == stage && one.at("state") == "done";
    }));
}

json report_in(const std::string& directory) {
    return json::parse(rldp::read_file(directory + "/protocol.json"));
}

}  // namespace

TEST_CASE("a protocol is done by two machines, and collected on one", "[full]") {
    const study s;
    const auto first = s.at("first"), second = s.at("second");
    s.compare("--shard 1/2 --out " + first);
    s.compare("--shard 2/2 --out " + second);
    CHECK(done(report_in(first), "tuning") == 2);  // of four; no arm is tuned, so none is tested
    CHECK(done(report_in(first), "test") == 0);

    const auto whole = s.compare("--collect " + second + " --out " + first);
    INFO(whole.err);
    REQUIRE(whole.status == 0);
    const auto report = json::parse(whole.out);
    CHECK(report == report_in(first));
    CHECK(done(report, "tuning") == 4);
    CHECK(done(report, "test") == 4);
    for (const auto& arm : report.at("arms")) CHECK(arm.at("chosen").size() == 1);
    CHECK(report.at("comparisons").size() == 1);
    CHECK(fs::exists(first + "/protocol.html"));
    CHECK(has(rldp::read_file(first + "/protocol.csv"), "perplexity"));

    // Nothing is left to do: no cell is run again.
    const auto before = fs::last_write_time(first + "/cells");
    CHECK(s.compare("--out " + first).status == 0);
    CHECK(fs::last_write_time(first + "/cells") == before);
}

TEST_CASE("so are a sweep and a comparison", "[full]") {
    const study s;
    const std::string small =
        " config/demo.json --set data.path=synthetic:300 --set data.max_tokens=16 --set train.steps=2 --set "
        "train.expected_batch_size=4 --set train.eval_records=2 --json --quiet --out ";
    for (const auto& [kind, axes] :
         {std::pair<std::string, std::string>{"sweep", " --grid train.lr=0.01,0.02 --seeds 0,1"},
          {"compare", " --methods static,auto_s --epsilons 2 --seeds 0,1"}}) {
        const auto here = s.at(kind + "-here"), there = s.at(kind + "-there");
        const auto call = [&](const std::string& more) {
            return rldp_says(kind + small + more + axes, s.scratch / ".");
        };
        CHECK(call(here + " --shard 1/2").status == 0);
        CHECK(call(there + " --shard 2/2").status == 0);
        const auto whole = call(here + " --collect " + there + " --shard 1/2");
        INFO(whole.err);
        CHECK(whole.status == 0);
        CHECK(has(whole.err, "2 cells collected"));
        std::size_t over = 0;
        for (const auto& cell : fs::directory_iterator(here + "/cells"))
            over += fs::exists(cell.path() / "public/summary.json");
        CHECK(over == 4);
    }
}

TEST_CASE("what a protocol's command can't mean is refused in one line") {
    const study s;
    const auto refuses = [&](const std::string& arguments, const std::string& part) {
        const auto got = rldp_says(arguments, s.scratch / ".");
        CAPTURE(arguments, got.err);
        CHECK(got.status == 2);
        CHECK(got.err.find('\n') + 1 == got.err.size());
        CHECK(has(got.err, part));
    };
    const auto written = "compare --protocol " + s.at("protocol.json");
    refuses(written + " --shard 3/2", "3/2");
    refuses(written + " --shard two", "two");
    refuses(written + " --collect " + s.at("nowhere") + " --out " + s.at("out"), "nowhere");
    refuses(written + " --seeds 1", "--seeds");
    refuses("compare config/demo.json --shard 0/2 --out " + s.at("grid"), "0/2");
    refuses("sweep config/demo.json --grid rl.batch=4,8 --shard 3/2 --out " + s.at("grid"), "3/2");
    refuses("compare --protocol " + s.at("base.json"), "base.json");
    refuses("compare --protocol " + s.at("none.json"), "none.json");
    refuses("compare", "config");
}

TEST_CASE("a plan divides a budget of work, and says what noise that takes", "[full]") {
    const study s;
    const auto plan = [&](const std::string& more) {
        return rldp_says("plan " + s.at("base.json") + " " + more, s.scratch / ".");
    };
    const auto got = plan("--examples 800 --json --set data.path=synthetic:2000");
    INFO(got.err);
    REQUIRE(got.status == 0);
    const auto plans = json::parse(got.out).at("plans");
    REQUIRE(plans.size() >= 2);
    double least = 1e9;
    for (const auto& one : plans) {
        const double batch = one.at("expected_batch_size");
        CHECK(batch * one.at("steps").get<double>() == Approx(800).epsilon(0.1));
        CHECK(one.at("noise_per_unit").get<double>() == Approx(one.at("noise_multiplier").get<double>() / batch));
        CHECK(one.at("noise_per_unit").get<double>() < least);  // larger batches, less noise
        least = one.at("noise_per_unit");
    }
    CHECK(has(plan("--minutes 1").out, "--set train.expected_batch_size="));
    for (const std::string bad : {"--examples 5", "--examples 100 --minutes 1", "--minutes 0"}) {
        const auto refused = plan(bad);
        CAPTURE(bad, refused.err);
        CHECK(refused.status == 2);
        CHECK(refused.err.find('\n') + 1 == refused.err.size());
    }
}

TEST_CASE("a suite of two beds is done by two machines, and collected on one", "[full]") {
    const study s;
    const json bed = {{"base", "base.json"}, {"measure", "perplexity"}};
    rldp::write_file(
        s.scratch / "suite.json",
        json{{"ours", "rldp"},
             {"control", "static"},
             {"set", {{"privacy.population", 150}}},
             {"arms",
              {{"static", {{"set", {{"method.name", "static"}}}}},
               {"rldp", json::object()},
               {"tried", {{"set", {{"method.name", "static"}}}, {"trials", {{"train.lr", {0.001, 0.01}}}}}}}},
             {"parts", {{"all", {{"seeds", {0, 1}}, {"beds", {{"one", bed}, {"other", bed}}}}}}}}
            .dump());
    const auto call = [&](const std::string& more) {
        return rldp_says("suite --quiet --json " + s.at("suite.json") + " " + more, s.scratch / ".");
    };
    const auto first = s.at("first"), second = s.at("second");
    CHECK(call("--shard 2/2 --out " + second).status == 0);
    const auto half = call("--bed one --shard 1/2 --out " + first);
    INFO(half.err);
    CHECK(half.status == 0);
    const auto beds = json::parse(half.out).at("parts").at(0).at("beds");
    CHECK(beds.at(0).at("arms").at("tried").at("ends").size() == 1);
    CHECK(beds.at(1).at("arms").at("rldp").at("ends").empty());

    const auto whole = call("--collect " + second + " --out " + first);
    INFO(whole.err);
    REQUIRE(whole.status == 0);
    const auto part = json::parse(whole.out).at("parts").at(0);
    for (const auto& one : part.at("beds"))
        for (const auto& [arm, came] : one.at("arms").items()) CHECK(came.at("ends").size() == 2);
    CHECK(part.at("comparisons").size() == 2);
    CHECK(json::parse(rldp::read_file(first + "/suite.json")) == json::parse(whole.out));
    CHECK(has(rldp::read_file(first + "/suite.csv"), "one/tried-seed0-setting"));
    CHECK(has(call("--bed none --out " + first).err, "--bed none: the suite has no such bed"));
}

#include "monitor/http/router.hpp"

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/files.hpp"
#include "monitor/http/api.hpp"
#include "tests/catch.hpp"
#include "tests/monitor/watch/made_up_run.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::monitor;
using namespace rldp::testing;
using nlohmann::json;

namespace {

const std::string viewer(64, 'a'), boss(64, 'b');

request get(const std::string& target, const std::string& token = {}) {
    return {.method = "GET",
            .target = target,
            .host = "localhost:8787",
            .authorization = token.empty() ? std::string() : "Bearer " + token};
}

request post(const std::string& target, const std::string& token = {}, const std::string& body = {}) {
    auto out = get(target, token);
    out.method = "POST";
    out.body = body;
    return out;
}

std::string field(const response& of, const std::string& name) {
    for (const auto& [key, value] : of.fields)
        if (key == name) return value;
    return {};
}

/// Two runs, watched by whoever comes.
struct watched {
    scratch_directory scratch;
    catalog runs;
    access_rules who;
    std::string stopped;
    router subject;

    explicit watched(std::optional<tokens> known = {})
        : runs(made(scratch)),
          who(std::move(known), {"localhost"}),
          subject(runs, who, "1.2.3", [this](const auto& id) {
              stopped = id;
              return true;
          }) {
        runs.refresh();
    }

    static std::vector<std::filesystem::path> made(const scratch_directory& in) {
        make_run(in / "runs/a", {.steps = 5, .planned = 10});
        make_run(in / "runs/b", {.steps = 10, .planned = 10, .over = true});
        return {in / "runs"};
    }
};

}  // namespace

TEST_CASE("the overview tells every run, and a run its contract and curves") {
    watched at;
    const rldp::append_file writer(at.scratch / "runs/a/public/ledger.jsonl");
    at.runs.refresh();
    const auto all = json::parse(at.subject.answer(get("/api/runs")).body);
    REQUIRE(all["runs"].size() == 2);
    CHECK(all["program"] == "1.2.3");
    CHECK(all["runs"][0]["id"] == "a");
    CHECK(all["runs"][0]["state"] == "running");
    CHECK(all["runs"][1]["state"] == "done");
    const auto one = json::parse(at.subject.answer(get("/api/runs/a?points=8")).body);
    CHECK(one["contract"]["guaranteed_epsilon"] == 2.0);
    CHECK(one["contract"]["epsilon"] == 2.5);  // the budget
    CHECK(one["curves"]["loss"].size() == 5);
    CHECK(one["step"] == 5);
    // Made a moment ago: a clock's other epoch would tell.
    CHECK_FALSE(one.contains("changed"));  // times tell how large batches were
    const auto part = json::parse(at.subject.answer(get("/api/runs/a?from=2&to=3")).body);
    CHECK(part["curves"]["loss"].size() == 2);
    const auto csv = at.subject.answer(get("/api/runs/a/metrics.csv"));
    CHECK(csv.body.starts_with("step,quantity,value\n1,loss,"));
    CHECK(has(field(csv, "Content-Disposition"), "a.csv"));
    CHECK(at.subject.answer(get("/api/runs/a/stream")).events == "a");
    CHECK(at.subject.answer(get("/api/stream")).events == "");
    CHECK(has(at.subject.answer(get("/metrics")).body, "rldp_step{run=\"a\"} 5\n"));
    // A name that is no UTF-8 would spoil the whole answer.
    make_run(at.scratch / "runs/x\xff\\\"", {.steps = 3});
    at.runs.refresh(catalog::clock::now() + std::chrono::hours(1));
    CHECK(has(at.subject.answer(get("/metrics")).body, "rldp_step{run=\"x\\\\xff\\\\\\\"\"} 3\n"));
    CHECK(at.subject.answer(get("/healthz")).body == "ok\n");
    CHECK(json::parse(at.subject.answer(get("/api/openapi.json")).body)["paths"].contains("/api/runs/{id}"));
}

TEST_CASE("a run shows what its model made up, as many rows as fit a page") {
    watched at;
    const auto get_run = [&](const std::string& id) {
        return json::parse(at.subject.answer(get("/api/runs/" + id)).body);
    };
    CHECK(get_run("b")["table"] ==
          json::parse(R"({"columns": ["sex", "note"], "rows": [["f", "<img src=x>"], ["m", ""]]})"));
    CHECK_FALSE(get_run("a").contains("table"));
    const auto file = at.scratch / "runs/b/public/summary.json";
    auto summary = json::parse(rldp::read_file(file));
    summary["table"]["rows"] = json::array();
    for (int i = 0; i < 200; ++i) summary["table"]["rows"].push_back({"f", std::to_string(i)});
    rldp::write_file(file, summary.dump());
    at.runs.refresh();
    const auto rows = get_run("b")["table"]["rows"];
    CHECK(rows.size() == 64);
    CHECK(rows[63][1] == "63");
    // What is being made takes its place, whatever its files say.
    CHECK_FALSE(get_run("b").contains("made_up_rows"));
    at.runs.find("b")->tell(table_progress{.last = {{"n"}, {{"7"}}}, .made = 30, .asked = 100});
    rldp::write_file(file, summary.dump(1));
    at.runs.refresh();
    CHECK(get_run("b")["made_up_rows"] == json{30, 100});
    CHECK(get_run("b")["table"] == json::parse(R"({"columns": ["n"], "rows": [["7"]]})"));
    const auto described = json::parse(at.subject.answer(get("/api/openapi.json")).body);
    CHECK(has(described["paths"]["/api/runs/{id}"].dump(), "\"table\""));
}

TEST_CASE("every quantity that is watched is described, scraped and drawn") {
    watched at;
    const auto described = json::parse(at.subject.answer(get("/api/openapi.json")).body);
    const auto session = json::parse(at.subject.answer(get("/api/session")).body);
    const auto scraped = at.subject.answer(get("/metrics")).body;
    const auto row = json::parse(at.subject.answer(get("/api/runs")).body)["runs"][0];
    CHECK(session["quantities"].size() == rldp::eval::quantities.size());
    std::set<std::string> drawn;
    for (const auto& one : session["quantities"]) drawn.insert(one["name"]);
    for (const auto& one : rldp::eval::quantities) {
        const std::string name(one.name);
        INFO(name);
        CHECK(described["components"]["schemas"]["run"]["properties"].contains(name));
        CHECK(has(scraped, "# TYPE " + std::string(one.gauge) + " gauge\n"));
        CHECK(has(scraped, std::string(one.gauge) + "_low") == (one.within != nullptr));
        CHECK(drawn.contains(name));
        CHECK(row.contains(name));
        CHECK(row.contains(name + "_in") == (one.within != nullptr));
    }
}

TEST_CASE("a server that nothing can be told takes no post") {
    watched at;
    router subject(at.runs, at.who, "1");
    for (const auto* where : {"/api/runs/a/stop", "/sign-in", "/api/runs"})
        CHECK(subject.answer(post(where)).status == 405);
    CHECK(subject.answer(get("/api/runs")).status == 200);
}

TEST_CASE("report and certificate of a run are pages to read that may do nothing") {
    watched at(tokens{viewer, boss});
    const auto row = [&](const char* run) {
        return json::parse(at.subject.answer(get(std::string("/api/runs/") + run, viewer)).body);
    };
    CHECK((row("b")["report"] == true && row("b")["certificate"] == true));
    CHECK((row("a")["report"] == false && row("a")["certificate"] == false));
    CHECK(row("a")["contract"]["unit"] == "record");
    for (const std::string page : {"report", "certificate"}) {
        CHECK(at.subject.answer(get("/api/runs/b/" + page + ".html")).status == 401);
        CHECK(at.subject.answer(get("/api/runs/a/" + page + ".html", viewer)).status == 404);
        const auto said = at.subject.answer(get("/api/runs/b/" + page + ".html", viewer));
        CHECK(said.body == "<title>" + page + "</title>");
        const auto may = field(said, "Content-Security-Policy");
        CHECK(has(may, "default-src 'none'"));
        CHECK(has(may, "sandbox"));
        CHECK_FALSE(has(may, "script"));
    }
    // Nothing but those, and no link to another file.
    std::filesystem::remove(at.scratch / "runs/b/public/report.html");
    std::filesystem::create_symlink("/etc/hostname", at.scratch / "runs/b/public/report.html");
    CHECK(at.subject.answer(get("/api/runs/b/report.html", viewer)).status == 404);
    at.runs.refresh();
    CHECK(row("b")["report"] == false);
}

TEST_CASE("two folders of one name are two series each") {
    const scratch_directory scratch;
    for (const char* name : {"one/runs/x", "two/runs/x"}) make_run(scratch / name, {.steps = 3});
    catalog runs({scratch / "one/runs", scratch / "two/runs"});
    runs.refresh();
    const access_rules who({}, {"localhost"});
    router subject(runs, who, "1");
    std::istringstream lines(subject.answer(get("/metrics")).body);
    std::set<std::string> series;
    for (std::string line; std::getline(lines, line);)
        if (!line.starts_with('#')) CHECK(series.insert(line.substr(0, line.rfind(' '))).second);
    CHECK(series.contains("rldp_step{run=\"one/runs/x\"}"));
    CHECK(series.contains("rldp_step{run=\"two/runs/x\"}"));
}

TEST_CASE("a grid tells its cells, those that run and those that wait") {
    watched at;
    make_run(at.scratch / "runs/grid/cells/x", {.over = true});
    rldp::write_file(at.scratch / "runs/grid/grid.json", R"({"kind": "sweep"})");
    rldp::write_file(at.scratch / "runs/grid/progress.json",
                     R"({"cells": [{"id": "x", "state": "done"}, {"id": "y", "state": "waiting"}]})");
    at.runs.refresh(catalog::clock::now() + std::chrono::hours(1));
    const auto all = json::parse(at.subject.answer(get("/api/runs")).body)["grids"];
    REQUIRE(all.size() == 1);
    CHECK(all[0]["kind"] == "sweep");
    CHECK(all[0]["cells"] == 2);
    CHECK(all[0]["done"] == 1);
    CHECK(all[0]["failed"] == 0);
    const auto one = json::parse(at.subject.answer(get("/api/grids/grid")).body);
    REQUIRE(one["cells"].size() == 2);
    CHECK(one["cells"][0]["run"]["id"] == "grid~cells~x");
    CHECK(one["cells"][1]["state"] == "waiting");
    CHECK_FALSE(one["cells"][1].contains("run"));
    CHECK(at.subject.answer(get("/api/grids/none")).status == 404);
}

TEST_CASE("the page comes compressed to who can read that, whole to others") {
    watched at;
    auto asked = get("/");
    const auto plain = at.subject.answer(asked);
    CHECK(has(plain.body, "<title>RLDP</title>"));
    asked.accepts_gzip = true;
    const auto packed = at.subject.answer(asked);
    CHECK(field(packed, "Content-Encoding") == "gzip");
    CHECK(unpacked(packed.body) == plain.body);
    auto api = get("/api/openapi.json");
    const auto whole = at.subject.answer(api);
    api.accepts_gzip = true;
    const auto small = at.subject.answer(api);
    CHECK(field(small, "Content-Encoding") == "gzip");
    CHECK(small.body.size() < whole.body.size() / 3);
    CHECK(unpacked(small.body) == whole.body);
}

TEST_CASE("nothing but what is named is answered, whatever a path says") {
    watched at;
    for (const char* target :
         {"/etc/passwd", "/../../etc/passwd", "/api/runs/../../trusted/key", "/api/runs/a/../../..",
          "/api/runs/a/trusted/key", "/api/runs/%2e%2e/%2e%2e", "/api/runs/a%00", "/api/runs//a", "", "*",
          "/api/runs/c", "/page/app.js", "//app.js", "/api/runs/a/metrics.csv/"})
        CHECK(at.subject.answer(get(target)).status == 404);
    for (const char* method : {"PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "", "get"}) {
        auto asked = get("/api/runs");
        asked.method = method;
        CHECK(at.subject.answer(asked).status == 405);
    }
    CHECK(at.subject.answer(post("/api/runs")).status == 405);
    CHECK(at.subject.answer(post("/healthz")).status == 405);
    // Numbers that are none are as if they weren't there.
    for (const char* query : {"points=-1", "points=99999999999999999999", "points=x", "from=&to=", "&&&=", "points"})
        CHECK(at.subject.answer(get(std::string("/api/runs/a?") + query)).status == 200);
    auto elsewhere = get("/api/runs");
    elsewhere.host = "evil.example";
    CHECK(at.subject.answer(elsewhere).status == 403);
    CHECK(has(std::string(security_fields()[0].second), "frame-ancestors 'none'"));
}

TEST_CASE("with tokens strangers see the page and nothing of runs") {
    watched at(tokens{viewer, boss});
    CHECK(at.subject.answer(get("/")).status == 200);
    for (const char* target : {"/api/runs", "/api/runs/a", "/api/stream", "/metrics", "/api/session"}) {
        CHECK(at.subject.answer(get(target)).status == 401);
        CHECK(at.subject.answer(get(target, std::string(64, 'c'))).status == 401);
        CHECK(at.subject.answer(get(target, viewer)).status == 200);
    }
    auto by_cookie = get("/api/runs");
    by_cookie.cookie = "other=1; rldp_token=" + viewer;
    CHECK(at.subject.answer(by_cookie).status == 200);
    by_cookie.cookie = "rldp_token=" + viewer + "0";
    CHECK(at.subject.answer(by_cookie).status == 401);
    const auto in = at.subject.answer(post("/sign-in", {}, "token=" + viewer));
    CHECK(in.status == 303);
    for (const char* part : {"HttpOnly", "SameSite=Strict", "Secure"}) CHECK(has(field(in, "Set-Cookie"), part));
    CHECK(at.subject.answer(post("/sign-in", {}, "token=x")).status == 401);
}

TEST_CASE("what a stranger sends never ends a line of an answer's head") {
    watched at;
    CHECK(at.subject.answer(post("/sign-in", {}, "token=a\r\nSet-Cookie: evil=1\r\n\r\n<script>")).status == 404);
    CHECK(field_value("a\r\nSet-Cookie: evil=1") == "a??Set-Cookie: evil=1");
    CHECK(field_value("default-src 'self'") == "default-src 'self'");
    CHECK(field_value(std::string("\0\x7f\xff", 3)) == "???");
}

TEST_CASE("a run is stopped by an operator's token, while it goes on, and by nothing less") {
    watched at(tokens{viewer, boss});
    CHECK(at.subject.answer(post("/api/runs/a/stop")).status == 401);
    CHECK(at.subject.answer(post("/api/runs/a/stop", viewer)).status == 403);
    CHECK(at.subject.answer(get("/api/runs/a/stop", boss)).status == 405);
    CHECK(at.subject.answer(post("/api/runs/b/stop", boss)).status == 409);
    CHECK(at.stopped.empty());
    CHECK(at.subject.answer(post("/api/runs/a/stop", boss)).status == 202);
    CHECK(at.stopped == "a");
    CHECK(json::parse(at.subject.answer(get("/api/session", boss)).body)["may_stop"] == true);
    CHECK(json::parse(at.subject.answer(get("/api/session", viewer)).body)["may_stop"] == false);
    // By cookie, too, which no other site can send along; but not from a page elsewhere.
    auto from = post("/api/runs/a/stop");
    from.cookie = "rldp_token=" + boss;
    from.origin = "https://evil.example";
    CHECK(at.subject.answer(from).status == 403);
}

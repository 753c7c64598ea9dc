// The harness itself: what it must see, and what it must not accept.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

#include "tests/catch.hpp"
#include "tests/faults/classes.hpp"
#include "tests/faults/disk.hpp"
#include "tests/faults/judge.hpp"
#include "tests/faults/results.hpp"
#include "tests/faults/witness.hpp"

using namespace rldp::testing;

namespace {

/// A directory that goes with the test.
class scratch {
  public:
    scratch() {
        auto pattern = (std::filesystem::temp_directory_path() / "rldp-test-faults-XXXXXX").string();
        REQUIRE(::mkdtemp(pattern.data()) != nullptr);
        root_ = pattern;
    }
    ~scratch() { std::filesystem::remove_all(root_); }
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;
    path operator/(const std::string& name) const { return root_ / name; }

  private:
    path root_;
};

/// Every content that power cuts leave of `name`, "-" where the file is gone.
std::set<std::string> list_left(const std::string& name, const std::vector<event>& done) {
    const scratch at;
    std::set<std::string> out;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        disk platter(at / "nothing", "/top");
        for (const auto& what : done) platter.apply(what);
        generator random(seed);
        const auto to = at / std::to_string(seed);
        platter.leave(to, random);
        out.insert(std::filesystem::exists(to / name) ? read_content(to / name) : "-");
    }
    return out;
}

using contents = std::set<std::string>;

event make_write(const std::string& name, long long at, const std::string& bytes) {
    return {"write", at, "/top/" + name, bytes};
}

/// A release as the log holds it.
std::string release(std::uint64_t seq, const std::string& rest) {
    const auto put = [](std::uint64_t value) {
        return std::string(reinterpret_cast<const char*>(&value), sizeof value);
    };
    return "RLDPREL2" + put(8 + rest.size()) + std::string(16, 'c') + put(seq) + rest;
}

const std::string ledger = "/top/run/public/ledger.jsonl", releases = "/top/run/trusted/releases.log",
                  metrics = "/top/run/public/metrics.jsonl";

std::vector<std::string> objections_to(const std::vector<event>& journal) {
    witness seen(yard{"/nowhere"});
    seen.saw(journal);
    return seen.objections();
}

std::vector<event> one_step() {
    return {{"write", 0, ledger, "header\n"},
            {"fsync", 0, ledger, {}},
            {"write", 7, ledger, "charge\n"},
            {"fsync", 0, ledger, {}},
            {"write", 0, releases, release(1, "a")},
            {"fsync", 0, releases, {}},
            {"write", 0, metrics,
             R"({"step":1,"loss_released":2.5,"noise_multiplier":1})"
             "\n"}};
}

}  // namespace

TEST_CASE("what was synced is all there, and nothing else is promised") {
    const event made{"create", 0644, "/top/file", {}}, named{"fsync", 0, "/top", {}}, kept{"fsync", 0, "/top/file", {}};
    CHECK(list_left("file", {made, make_write("file", 0, "ab"), kept, named}) == contents{"ab"});
    CHECK(list_left("file", {made, make_write("file", 0, "ab"), kept}) == contents{"-", "ab"});
    CHECK(list_left("file", {made, named, make_write("file", 0, "ab")}) ==
          contents{"", "a", "ab", std::string(2, '\0')});
    CHECK(list_left("file", {made, named, make_write("file", 0, "ab"), kept, make_write("file", 2, "c")}) ==
          contents{"ab", "abc", std::string("ab\0", 3)});
    CHECK(list_left("file", {made, named, make_write("file", 0, "ab"), kept, {"truncate", 1, "/top/file", {}}}) ==
          contents{"ab", "a"});
}

TEST_CASE("entries come and go in order, and a rename is whole or not at all") {
    const event named{"fsync", 0, "/top", {}};
    const std::vector<event> replaced{
        {"create", 0644, "/top/file", {}},     make_write("file", 0, "old"),
        {"fsync", 0, "/top/file", {}},         named,
        {"create", 0644, "/top/file.tmp", {}}, make_write("file.tmp", 0, "new"),
        {"fsync", 0, "/top/file.tmp", {}},     {"rename", 0, "/top/file.tmp", "/top/file"}};
    CHECK(list_left("file", replaced) == contents{"old", "new"});
    CHECK(list_left("file.tmp", replaced) == contents{"-", "new"});
    auto safe = replaced;
    safe.push_back(named);
    CHECK(list_left("file", safe) == contents{"new"});
    safe.push_back({"unlink", 0, "/top/file", {}});
    CHECK(list_left("file", safe) == contents{"new", "-"});
    // A directory whose own entry was not made safe takes everything with it.
    CHECK(list_left("run/file", {{"mkdir", 0755, "/top/run", {}},
                                 {"create", 0644, "/top/run/file", {}},
                                 {"fsync", 0, "/top/run", {}}}) == contents{"-", ""});
}

TEST_CASE("the witness objects to a release whose charge isn't safe, to two of one seq, to a step shown too early") {
    CHECK(objections_to(one_step()).empty());
    auto unsynced = one_step();
    unsynced.erase(unsynced.begin() + 3);
    CHECK(objections_to(unsynced) == std::vector<std::string>{"release 1 was written before its charge was safe"});
    auto twice = one_step();
    twice.push_back({"write", 0, releases, release(1, "b")});
    CHECK(objections_to(twice) == std::vector<std::string>{"release 1 was made twice, with two contents"});
    auto early = one_step();
    early.erase(early.begin() + 5);
    CHECK(objections_to(early) == std::vector<std::string>{"step 1 was shown before its release was safe"});
    auto other = one_step();
    other.push_back({"write", 0, metrics,
                     R"({"step":1,"loss_released":2.25,"noise_multiplier":1})"
                     "\n"});
    CHECK(objections_to(other) == std::vector<std::string>{"step 1 was shown with two contents"});
    // Written in two pieces it is one release.
    auto pieces = one_step();
    const auto whole = pieces[4].bytes;
    pieces[4].bytes = whole.substr(0, 20);
    pieces.insert(pieces.begin() + 5, {"write", 20, releases, whole.substr(20)});
    CHECK(objections_to(pieces).empty());
}

TEST_CASE("the judge accepts one line that names something, a documented status, and an end") {
    CHECK(complaint({0, false, {}, {}}).empty());
    CHECK(complaint({0, false, {}, "warning: a\nwarning: b\n"}).empty());
    CHECK(complaint({2, false, {}, "rldp: a/b: can't be written\n"}).empty());
    CHECK(complaint({2, false, {}, "rldp: noise.policy is wrong\n"}).empty());
    CHECK_FALSE(complaint({0, true, {}, {}}).empty());
    CHECK_FALSE(complaint({1, false, {}, {}}).empty());
    CHECK_FALSE(complaint({1, false, {}, "rldp: std::bad_alloc\n"}).empty());
    CHECK_FALSE(complaint({1, false, {}, "terminate called after throwing an instance of a/b\n"}).empty());
    CHECK_FALSE(complaint({1, false, {}, "rldp: a/b\nrldp: a/b\n"}).empty());
    CHECK_FALSE(complaint({71, false, {}, "rldp: a/b\n"}).empty());
    CHECK_FALSE(complaint({134, false, {}, "rldp: a/b\n"}).empty());
    CHECK_FALSE(complaint({137, false, {}, {}}).empty());
    CHECK(complaint({137, false, {}, {}}, {.killed = true}).empty());
}

TEST_CASE("a hundred cases in a row have every class as often as its weight says") {
    std::map<std::string, int> seen;
    for (std::uint64_t number = 700; number < 800; ++number) ++seen[find_class(number).name];
    for (const auto& one : fault_classes()) CHECK(seen[one.name] == one.weight);
}

TEST_CASE("results are read as they were appended, those of another seed apart") {
    const scratch at;
    append(at / "results", {1, 5, "power cut", {"FAILED", "one\nline"}, 1.5});
    append(at / "results", {2, 6, "limits", {"finished", ""}, 0.5});
    const auto read = read_results(at / "results", 1);
    REQUIRE(read.size() == 1);
    CHECK(read[0].number == 5);
    CHECK(read[0].fault == "power cut");
    CHECK(read[0].ended.outcome == "FAILED");
    CHECK(read[0].ended.symptom == "one line");
    CHECK(any_failed(read));
    CHECK_FALSE(any_failed(read_results(at / "results", 2)));
}

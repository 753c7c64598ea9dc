// Where a run's records lie as tokens: made once, found again by resumes and other runs, gone when nobody needs them.
#include <fstream>

#include "base/directories.hpp"
#include "base/files.hpp"
#include "run/cached_corpus.hpp"
#include "run/run_end.hpp"
#include "tests/actors/small_runs.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

namespace {

namespace fs = std::filesystem;

/// Name and time of every corpus file below `root`: a file that is made again is another.
std::vector<std::string> corpora_below(const fs::path& root) {
    std::vector<std::string> out;
    for (const auto& entry : entries_below(root))
        if (entry.path().extension() == ".corpus")
            out.push_back(entry.path().string() + " " +
                          std::to_string(entry.last_write_time().time_since_epoch().count()));
    return out;
}

fs::path corpus_in(const fs::path& shelf) {
    for (const auto& entry : list_entries(shelf))
        if (entry.path().extension() == ".corpus") return entry.path();
    return {};
}

std::vector<std::string> all_in(const fs::path& root) {
    std::vector<std::string> out;
    for (const auto& entry : list_entries(root)) out.push_back(entry.path().filename().string());
    return out;
}

}  // namespace

TEST_CASE("a run keeps its records as tokens until it ends, and a resume finds them") {
    scratch_directory scratch;
    const auto run = scratch / "run";
    { create_run(small(), run); }
    const auto made = corpora_below(scratch.path());
    REQUIRE(made.size() == 1);
    CHECK_FALSE(corpus_in(eval::run_directory{run}.corpus()).empty());
    CHECK(all_in(scratch.path()) == std::vector<std::string>{"run"});
    { resume_run(run); }
    CHECK(corpora_below(scratch.path()) == made);
    SECTION("to its end") {
        CHECK(resume_quietly(run).steps_done == 12);
        CHECK_FALSE(fs::exists(eval::run_directory{run}.corpus()));
    }
    SECTION("or they are made again where they are gone or damaged") {
        fs::remove_all(eval::run_directory{run}.corpus());
        { resume_run(run); }
        CHECK(corpora_below(run).size() == 1);
        fs::resize_file(corpus_in(eval::run_directory{run}.corpus()), 100);
        CHECK(resume_quietly(run).steps_done == 12);
    }
    SECTION("and where an end was cut short, cleaning ends it") {
        remove_file(eval::run_directory{run}.key());
        clean(scratch.path());
        CHECK(corpora_below(scratch.path()).empty());
    }
}

TEST_CASE("tokens from a file train the same adapter as those in memory") {
    scratch_directory scratch;
    const std::vector<std::string> more{"noise.insecure_reproducible=true", "audit.canaries=4", "data.canaries=3",
                                        "audit.gradient_canaries=4"};
    auto in_memory = more;
    in_memory.emplace_back("data.cache=none");
    run_quietly(small(more), scratch / "a");
    run_quietly(small(in_memory), scratch / "b");
    CHECK(at::equal(saved_adapter(scratch / "a"), saved_adapter(scratch / "b")));
    CHECK(read_file(eval::run_directory{scratch / "a"}.metrics()) ==
          read_file(eval::run_directory{scratch / "b"}.metrics()));
}

TEST_CASE("a cache is shared by runs and stays, and none writes nothing") {
    scratch_directory scratch;
    const auto cache = "data.cache=" + (scratch / "cache").string();
    run_quietly(small({cache}), scratch / "a");
    const auto made = corpora_below(scratch.path());
    REQUIRE(made.size() == 1);
    { create_run(small({cache, "seed=9"}), scratch / "b", {.corpora = scratch / "unused"}); }
    CHECK(corpora_below(scratch.path()) == made);
    { create_run(small({cache, "data.max_tokens=20"}), scratch / "c"); }
    CHECK(corpora_below(scratch.path()).size() == 2);
    { create_run(small({cache, "audit.shadow=0"}), scratch / "s"); }  // nobody else has a shadow run's units
    CHECK(corpora_below(scratch / "cache").size() == 2);
    CHECK(corpora_below(scratch / "s").size() == 1);
    { create_run(small({"data.cache=none"}), scratch / "d"); }
    CHECK_FALSE(fs::exists(eval::run_directory{scratch / "d"}.corpus()));
    fs::permissions(scratch / "cache", fs::perms(0755));
    const auto said = refusal([&] { create_run(small({cache}), scratch / "e"); });
    CHECK(has(said, "chmod 700"));
    CHECK(has(said, (scratch / "cache").string()));
}

TEST_CASE("a start that fails leaves no tokens behind, one that was killed leaves them to the next") {
    scratch_directory scratch;
    const auto bad = small({"train.expected_batch_size=100000"});
    const auto said = refusal([&] { create_run(bad, scratch / "run"); });
    REQUIRE(said != "");
    CHECK(all_in(scratch.path()).empty());

    std::filesystem::path beside;
    {
        const auto killed = cached_corpus::of_run(config::to_reading_spec(small()), scratch / "run", {},
                                                  true);  // as when the process died
        beside = scratch / all_in(scratch.path()).front();
        fs::create_directory(scratch / "copy");
        std::ofstream(beside / "0123.partial") << "half a corpus";
        fs::copy(beside, scratch / "copy", fs::copy_options::recursive);
    }
    CHECK_FALSE(fs::exists(beside));
    fs::rename(scratch / "copy", beside);
    fs::permissions(beside, fs::perms(0700));
    SECTION("cleaning removes them") {
        clean(scratch.path());
        CHECK(all_in(scratch.path()).empty());
    }
    SECTION("the next start goes on from there") {
        { create_run(small(), scratch / "run"); }
        CHECK(all_in(scratch.path()) == std::vector<std::string>{"run"});
    }
    SECTION("what is in use stays") {
        const auto used = cached_corpus::of_run(config::to_reading_spec(small()), scratch / "run", {}, true);
        clean(scratch.path());
        CHECK(fs::exists(beside));
    }
}

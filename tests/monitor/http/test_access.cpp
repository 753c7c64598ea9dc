#include "monitor/http/access.hpp"

#include "base/files.hpp"
#include "monitor/http/self_signed.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::monitor;

TEST_CASE("tokens tell viewers from operators, and strangers from both") {
    const std::string viewer(64, 'a'), boss(64, 'b');
    const access_rules subject(tokens{viewer, boss}, {"localhost"});
    CHECK(subject.of(viewer) == role::viewer);
    CHECK(subject.of(boss) == role::operator_);
    for (const auto& wrong :
         {std::string(), std::string(64, 'c'), viewer.substr(1), viewer + "a", std::string(64, 'A')})
        CHECK(subject.of(wrong) == role::nobody);
    const access_rules open({}, {"localhost"});
    CHECK(open.of("") == role::viewer);
    CHECK(open.of(boss) == role::viewer);  // without tokens nobody stops a run
    const access_rules no_boss(tokens{viewer, ""}, {});
    CHECK(no_boss.of("") == role::nobody);
}

TEST_CASE("only names of this server are answered: a page elsewhere whose name points here gives another") {
    const access_rules subject({}, {"localhost", "127.0.0.1", "[::1]", "lab.example"});
    for (const char* ours : {"localhost", "LOCALHOST:8787", "127.0.0.1:1", "[::1]", "[::1]:8787", "Lab.Example"})
        CHECK(subject.is_ours(ours));
    for (const char* other : {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80",
                              "localhost:", "localhost:80x", "127.0.0.2", "::1", "localhost:80:80"})
        CHECK_FALSE(subject.is_ours(other));
}

TEST_CASE("a file of tokens is its owner's alone, and each is 256 bits") {
    const scratch_directory scratch;
    const auto file = scratch / "tokens";
    make_tokens(file);
    const auto made = tokens::load(file);
    CHECK(made.viewer.size() == 64);
    CHECK(made.operator_.size() == 64);
    CHECK(made.viewer != made.operator_);
    CHECK(has(refusal([&] { make_tokens(file); }), "exists already"));
    std::filesystem::permissions(file, std::filesystem::perms::group_read, std::filesystem::perm_options::add);
    CHECK(has(refusal([&] { tokens::load(file); }), "chmod 600"));
    const auto with = [&](const std::string& text) {
        rldp::write_file(scratch / "other", text, 0600);
        return refusal([&] { tokens::load(scratch / "other"); });
    };
    const std::string one(64, '0');
    CHECK(with("viewer " + one + "\n").empty());
    CHECK(has(with("operator " + one + "\n"), "no viewer's token"));
    CHECK(has(with("viewer short\n"), "64 hex digits"));
    CHECK(has(with("viewer " + one + "\nviewer " + one + "\n"), "64 hex digits"));
    CHECK(has(with("boss " + one + "\n"), "64 hex digits"));
    CHECK(has(refusal([&] { tokens::load(scratch / "nowhere"); }), "nowhere"));
}

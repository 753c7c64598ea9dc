// The account of several runs that a budget pays for together.
#include "privacy/spending/account.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/files.hpp"
#include "privacy/keys/digest.hpp"
#include "privacy/spending/book_files.hpp"
#include "privacy/spending/verify.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::privacy;

namespace {

constexpr std::int64_t shared_runs = 3;

ledger_header header_of_three() {
    ledger_header out;
    out.delta = 1e-5;
    out.sample_rate = 0.01;
    out.population = 6400;
    out.steps = 20;
    out.policy = "fixed";
    out.accountant = "pld";
    out.unit = "record";
    out.split = "hash";
    out.epsilon_budget = 1;
    out.runs = shared_runs;
    out.epsilon_guaranteed = make_policy(rldp::policy_kind::fixed, to_spending_plan(out))->epsilon_guaranteed();
    out.held_out = rldp::publication::noised;
    out.looks = {2, noise_of_looks(2 * shared_runs, out.epsilon_guaranteed, out.delta)};
    return out;
}

/// A ledger as a run begins it, under a key of its own.
ledger begin(const std::filesystem::path& file, char key, ledger_header header = header_of_three()) {
    header.data_hmac = std::string(64, key);
    return ledger::create(file, header);
}

}  // namespace

TEST_CASE("a header of several runs is priced as all of them, their looks too") {
    ledger_content content;
    content.header = header_of_three();
    const auto verdict = verify(content);
    CHECK(verdict.epsilon_guaranteed == Approx(content.header.epsilon_guaranteed).epsilon(1e-3));
    CHECK(verdict.looks_epsilon == Approx(1).epsilon(1e-3));
    auto lie = content;
    lie.header.looks.noise_multiplier = noise_of_looks(2, lie.header.epsilon_guaranteed, lie.header.delta);
    CHECK(has(refusal([&] { verify(lie); }), "6 looks at held-out units"));
    // A deck's promise is of its own cards, whatever ε it was made for.
    auto dealt = content;
    dealt.header.policy = "deck";
    dealt.header.deck = {{1.0, 20}};
    dealt.header.runs = 1;
    dealt.header.looks = {};
    dealt.header.held_out = rldp::publication::none;
    const phase one[] = {{1.0, 0.01, 20}}, three[] = {{1.0, 0.01, 60}};
    const auto pld = make_accountant("pld");
    dealt.header.epsilon_budget = dealt.header.epsilon_guaranteed = pld->epsilon(one, 1e-5);
    CHECK_NOTHROW(verify(dealt));
    dealt.header.runs = 3;
    CHECK(has(refusal([&] { verify(dealt); }), "composes to"));
    dealt.header.epsilon_budget = dealt.header.epsilon_guaranteed = pld->epsilon(three, 1e-5);
    CHECK_NOTHROW(verify(dealt));
}

TEST_CASE("runs of a tuning that begin at once wait for one another") {
    scratch_directory scratch;
    std::filesystem::create_directory(scratch / "trusted");
    const auto run = begin(scratch / "a", 'a');
    std::optional<rldp::append_file> other(locate_account(scratch / "."));
    std::thread ends([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        other.reset();
    });
    enter_account(scratch / ".", {"cells/trial-1", run.content(), scratch / "mark", "data", "split"});
    ends.join();
    CHECK(read_account(locate_account(scratch / ".")).runs.size() == 1);
}

TEST_CASE("an account knows the runs that were begun, and pays for no more than it promises") {
    scratch_directory scratch;
    std::filesystem::create_directory(scratch / "trusted");
    const auto file = locate_account(scratch / ".");
    const auto first = begin(scratch / "a", 'a'), second = begin(scratch / "b", 'b'), third = begin(scratch / "c", 'c'),
               fourth = begin(scratch / "d", 'd');
    CHECK(open_account(scratch / ".", {"cells/trial-1", first.content(), scratch / "first.mark", "data", "split"})
              .runs.empty());
    enter_account(scratch / ".", {"cells/trial-1", first.content(), scratch / "first.mark", "data", "split"});
    enter_account(scratch / ".", {"cells/trial-2", second.content(), scratch / "second.mark", "data", "split"});
    enter_account(scratch / ".",
                  {"cells/trial-1", first.content(), scratch / "first.mark", "data", "split"});  // it goes on
    auto known = read_account(file);
    CHECK(known.header_hash == first.content().header_hash);
    REQUIRE(known.runs.size() == 2);
    CHECK(known.find("cells/trial-2")->ledger == second.content().header_hash);
    CHECK(known.covers(fourth.content().header));
    auto near = fourth.content().header;
    near.looks.noise_multiplier *= 1 + 1e-13;  // as another processor may have it
    CHECK(known.covers(near));
    near.looks.noise_multiplier *= 1 - 1e-6;
    CHECK_FALSE(known.covers(near));
    CHECK_NOTHROW(verify(known.promise()));
    // One that was removed, and is made again, would be a run more.
    CHECK(has(
        refusal([&] {
            open_account(scratch / ".", {"cells/trial-2", third.content(), scratch / "third.mark", "data", "split"});
        }),
        "what that spent is spent"));
    CHECK(has(
        refusal([&] {
            enter_account(scratch / ".", {"cells/trial-2", third.content(), scratch / "third.mark", "data", "split"});
        }),
        "what that spent is spent"));
    enter_account(scratch / ".", {"cells/final", third.content(), scratch / "third.mark", "data", "split"});
    CHECK(has(
        refusal([&] {
            enter_account(scratch / ".", {"cells/more", fourth.content(), scratch / "fourth.mark", "data", "split"});
        }),
        "one more than the 3 runs"));
    CHECK(read_account(file).runs.size() == 3);
}

TEST_CASE("an account takes no run of another price, and none that has charged elsewhere") {
    scratch_directory scratch;
    std::filesystem::create_directory(scratch / "trusted");
    const auto file = locate_account(scratch / ".");
    const auto first = begin(scratch / "a", 'a');
    enter_account(scratch / ".", {"trial-1", first.content(), scratch / "first.mark", "data", "split"});
    auto longer = header_of_three();
    longer.steps = 40;
    longer.epsilon_guaranteed = make_policy(rldp::policy_kind::fixed, to_spending_plan(longer))->epsilon_guaranteed();
    const auto other = begin(scratch / "b", 'b', longer);
    CHECK(has(refusal([&] {
                  open_account(scratch / ".", {"trial-2", other.content(), scratch / "other.mark", "data", "split"});
              }),
              "all runs of a tuning have the same price"));
    CHECK(has(refusal([&] {
                  enter_account(scratch / ".", {"trial-2", other.content(), scratch / "other.mark", "data", "split"});
              }),
              "the same price"));
    auto charged = begin(scratch / "c", 'c');
    const auto z =
        make_policy(rldp::policy_kind::fixed, to_spending_plan(header_of_three()))->initial_noise_multiplier();
    charged.append(1, z, 0.01, {});
    CHECK(
        has(refusal([&] {
                enter_account(scratch / ".", {"trial-2", charged.content(), scratch / "charged.mark", "data", "split"});
            }),
            "has gone on elsewhere"));
    CHECK(read_account(file).runs.size() == 1);
}

TEST_CASE("an account that was edited or cut within a line") {
    scratch_directory scratch;
    std::filesystem::create_directory(scratch / "trusted");
    const auto file = locate_account(scratch / ".");
    const auto first = begin(scratch / "a", 'a'), second = begin(scratch / "b", 'b');
    enter_account(scratch / ".", {"trial-1", first.content(), scratch / "first.mark", "data", "split"});
    const auto starts_of_first = rldp::read_file(scratch / "trusted/starts.json");
    enter_account(scratch / ".", {"trial-2", second.content(), scratch / "second.mark", "data", "split"});
    const auto whole = rldp::read_file(file);
    const auto refused = [&](const std::string& text) {
        rldp::write_file(file, text);
        return refusal([&] { read_account(file); });
    };
    auto edited = whole;
    edited.replace(edited.find("trial-1"), 7, "trial-9");
    CHECK(has(refused(edited), "line 2"));
    const auto second_line = whole.find('\n') + 1, third_line = whole.find('\n', second_line) + 1;
    CHECK(has(refused(whole.substr(0, second_line) + whole.substr(third_line)), "line 2: prev"));
    CHECK(has(refused(whole + whole.substr(third_line)), "line 4: prev"));
    CHECK(has(refused("{}\n"), "line 1"));
    CHECK(has(refused(whole.substr(0, 20)), "no run was ever begun"));
    // A crash in the entry: its run had charged nothing yet, its start was not noted, and it is entered again.
    rldp::write_file(file, whole.substr(0, whole.size() - 5));
    CHECK(read_account(file).runs.size() == 1);
    rldp::write_file(scratch / "trusted/starts.json", starts_of_first);
    std::filesystem::remove(scratch / "second.mark");
    enter_account(scratch / ".", {"trial-2", second.content(), scratch / "second.mark", "data", "split"});
    CHECK(read_account(file).runs.size() == 2);
    CHECK(rldp::read_file(file).size() == whole.size());
}

TEST_CASE("an account that was cut or removed sells no run more") {
    scratch_directory scratch;
    std::filesystem::create_directory(scratch / "trusted");
    const auto file = locate_account(scratch / ".");
    const auto first = begin(scratch / "a", 'a'), second = begin(scratch / "b", 'b'), third = begin(scratch / "c", 'c');
    enter_account(scratch / ".", {"trial-1", first.content(), scratch / "first.mark", "data", "split"});
    enter_account(scratch / ".", {"trial-2", second.content(), scratch / "second.mark", "data", "split"});
    const auto whole = rldp::read_file(file);
    const account_claim more{"trial-3", third.content(), scratch / "third.mark", "data", "split"};
    const auto refused = [&] { return refusal([&] { enter_account(scratch / ".", more); }); };
    rldp::write_file(file, whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1));
    CHECK(has(refused(), "trial-2 was begun and is missing"));
    std::filesystem::remove(file);
    CHECK(has(refused(), "trial-1 was begun and is missing"));
    CHECK(has(refusal([&] { open_account(scratch / ".", more); }), "is missing"));
    CHECK(rldp::read_file(file).empty());
    rldp::write_file(file, whole);
    CHECK_NOTHROW(enter_account(scratch / ".", more));
}

TEST_CASE("runs of an account are on the same data and split") {
    scratch_directory scratch;
    std::filesystem::create_directory(scratch / "trusted");
    const auto first = begin(scratch / "a", 'a'), second = begin(scratch / "b", 'b');
    const auto claim = [&](const std::string& data, const std::string& split) {
        return account_claim{"trial-2", second.content(), scratch / "second.mark", data, split};
    };
    open_account(scratch / ".", {"trial-1", first.content(), scratch / "first.mark", "not yet begun", "split"});
    enter_account(scratch / ".", {"trial-1", first.content(), scratch / "first.mark", "data", "split"});
    for (const auto& other : {claim("others", "split"), claim("data", "another")}) {
        CHECK(has(refusal([&] { open_account(scratch / ".", other); }), "other data or another split"));
        CHECK(has(refusal([&] { enter_account(scratch / ".", other); }), "other data or another split"));
    }
    CHECK(read_account(locate_account(scratch / ".")).runs.size() == 1);
    enter_account(scratch / ".", claim("data", "split"));
    std::filesystem::remove(scratch / "trusted/account.data");
    CHECK(has(refusal([&] { enter_account(scratch / ".", claim("others", "split")); }), "account.data: is missing"));
}

TEST_CASE("an account is a tuning's, and its runs lie below it") {
    scratch_directory scratch;
    const auto run = begin(scratch / "a", 'a');
    const auto refused = [&](const std::string& name) {
        return refusal([&] { enter_account(scratch / ".", {name, run.content(), scratch / "mark", "data", "split"}); });
    };
    CHECK(has(refused("trial-1"), "trusted/ is missing"));
    std::filesystem::create_directory(scratch / "trusted");
    for (const auto* name : {"", ".", "..", "../trial-1", "cells/../../trial-1", "/trial-1", "trial-\xff"})
        CHECK(has(refused(name), "is no name for a run"));
    CHECK_FALSE(std::filesystem::exists(locate_account(scratch / ".")));
    CHECK(refused("trial-1").empty());
    // Nor is another read.
    const auto file = locate_account(scratch / ".");
    nlohmann::json line = {
        {"run", "../trial-2"}, {"ledger", std::string(64, 'a')}, {"prev", read_account(file).last_hash()}};
    line["hash"] = sha256(line.dump());
    rldp::write_file(file, rldp::read_file(file) + line.dump() + "\n");
    CHECK(has(refusal([&] { read_account(file); }), "line 3: names no run below"));
}

TEST_CASE("a run goes on in its account, and a copy of it that is behind does not") {
    scratch_directory scratch;
    std::filesystem::create_directory(scratch / "trusted");
    const auto file = locate_account(scratch / ".");
    const auto first = begin(scratch / "a", 'a');
    const auto mark = scratch / "first.mark", copy = scratch / "copy.mark";
    enter_account(scratch / ".", {"trial-1", first.content(), mark, "data", "split"});
    std::filesystem::copy(mark, copy);
    enter_account(scratch / ".", {"trial-1", first.content(), mark, "data", "split"});
    CHECK(has(refusal([&] {
                  enter_account(scratch / ".", {"trial-1", first.content(), copy, "data", "split"});
              }),
              "has gone on elsewhere"));
    CHECK(has(refusal([&] {
                  open_account(scratch / ".", {"trial-1", first.content(), scratch / "none", "data", "split"});
              }),
              "has gone on elsewhere"));
    CHECK(read_account(file).runs.size() == 1);
    enter_account(scratch / ".", {"trial-1", first.content(), mark, "data", "split"});
    // A crash between the mark and the account.
    const auto marked = read_mark(mark);
    write_mark(mark,
               {.book = scratch / ".", .starts = {marked.starts[0], {first.content().header_hash, "one to come"}}});
    CHECK_NOTHROW(enter_account(scratch / ".", {"trial-1", first.content(), mark, "data", "split"}));
    CHECK(read_account(file).runs.size() == 1);
}

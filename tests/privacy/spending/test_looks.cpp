// Looks at held-out units: their price, and their lines in a ledger.
#include "privacy/spending/policy.hpp"

#include <cmath>
#include <limits>

#include "base/files.hpp"
#include "privacy/accounting/accountant.hpp"
#include "privacy/spending/ledger.hpp"
#include "privacy/spending/verify.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::privacy;
using rldp::publication;

namespace {

ledger_header header_with(std::int64_t count, double noise_multiplier) {
    ledger_header out;
    out.delta = 1e-5;
    out.sample_rate = 0.01;
    out.population = 1000;
    out.steps = 10;
    out.policy = "fixed";
    out.accountant = "pld";
    out.unit = "record";
    out.split = "hash";
    out.epsilon_budget = out.epsilon_guaranteed = 1;
    out.held_out = publication::noised;
    out.looks = {count, noise_multiplier};
    return out;
}

}  // namespace

TEST_CASE("looks cost what a composition of Gaussians without subsampling costs") {
    const auto pld = make_accountant("pld");
    for (const auto& [count, z] : {std::pair{1, 0.7}, {3, 1.04}, {3, 4.2}, {20, 6.0}, {100, 40.0}}) {
        const phase all[] = {{z, 1.0, count}};
        // An upper bound by another way, and close to what is exact.
        CHECK(compute_epsilon({count, z}, 1e-5) <= pld->epsilon(all, 1e-5));
        CHECK(compute_epsilon({count, z}, 1e-5) == Approx(pld->epsilon(all, 1e-5)).epsilon(2e-3));
    }
    CHECK(compute_epsilon({0, 0}, 1e-5) == 0);
}

TEST_CASE("the noise of looks is the least that their budget allows") {
    for (const double epsilon : {0.1, 1.0, 2.0, 8.0, 50.0})
        for (const std::int64_t count : {1, 3, 20}) {
            const double z = noise_of_looks(count, epsilon, 1e-6);
            CHECK(compute_epsilon({count, z}, 1e-6) <= epsilon);
            CHECK(compute_epsilon({count, z * (1 - 1e-9)}, 1e-6) > epsilon);
        }
    // Of one Gaussian at ε 1, δ 1e-5: 3.7306, as Balle and Wang's (2018) analytic calibration gives it.
    CHECK(noise_of_looks(1, 1, 1e-5) == Approx(3.7306).epsilon(1e-4));
}

TEST_CASE("looks stand in a ledger's chain beside steps") {
    const scratch_directory dir;
    const auto path = dir / "ledger.jsonl";
    auto subject = ledger::create(path, header_with(3, 2.5));
    subject.append_look(0);
    subject.append(1, 1, 0.01, {});
    subject.append(2, 1, 0.01, {});
    subject.append_look(2);
    subject.append(3, 1, 0.01, {});
    const auto read = read_ledger(path);
    REQUIRE(read.looks.size() == 2);
    CHECK(read.looks[1]->step == 2);
    CHECK(read.looks[1]->prev == read.charges[1]->hash);
    CHECK(read.charges[2]->prev == read.looks[1]->hash);
    CHECK(read.charges[2]->seq == 3);
    CHECK(read.look_at(2) != nullptr);
    CHECK(read.look_at(1) == nullptr);
    CHECK(read.end().hash == read.charges[2]->hash);
    CHECK(read.holds({0, read.looks[1]->hash}));
    CHECK(has(refusal([&] { subject.append_look(2); }), "stands after step 3"));
    CHECK(read.phases().front().steps == 3);
}

TEST_CASE("a look is charged at the header's noise, once at a step, and no more often than the budget pays for") {
    const scratch_directory dir;
    auto subject = ledger::create(dir / "ledger.jsonl", header_with(1, 2.5));
    CHECK(subject.append_look(0)->noise_multiplier == 2.5);
    CHECK(has(refusal([&] { subject.append_look(0); }), "beyond the 1"));
    auto twice = ledger::create(dir / "twice.jsonl", header_with(2, 2.5));
    twice.append_look(0);
    CHECK(has(refusal([&] { twice.append_look(0); }), "looked at twice"));
    auto without = header_with(0, 0);
    without.held_out = publication::raw;
    auto none = ledger::create(dir / "none.jsonl", without);
    CHECK(has(refusal([&] { none.append_look(0); }), "beyond the 0"));
}

TEST_CASE("headers whose looks don't fit what is published, or are without noise, are refused") {
    const scratch_directory dir;
    const auto said = [&](const ledger_header& header) {
        return refusal([&] { ledger::create(dir / "ledger.jsonl", header); });
    };
    auto header = header_with(3, 2.5);
    header.held_out = publication::none;
    CHECK(has(said(header), "3 looks at held-out units, of which \"none\" is published"));
    CHECK(has(said(header_with(0, 0)), "0 looks"));
    CHECK(has(said(header_with(3, 0)), "noise_multiplier must be finite and positive"));
    CHECK(has(said(header_with(3, std::numeric_limits<double>::quiet_NaN())), "noise_multiplier"));
}

TEST_CASE("an edit, a cut or an exchange of a look's line is noticed") {
    const scratch_directory dir;
    const auto path = dir / "ledger.jsonl";
    {
        auto subject = ledger::create(path, header_with(2, 2.5));
        subject.append_look(0);
        subject.append(1, 1, 0.01, {});
    }
    const auto text = rldp::read_file(path);
    const auto with = [&](const std::string& from, const std::string& to) {
        auto changed = text;
        changed.replace(changed.find(from, changed.find("\"look\"")), from.size(), to);
        rldp::write_file(path, changed);
        return refusal([&] { read_ledger(path); });
    };
    CHECK(has(with("\"look\":1", "\"look\":2"), "line 2"));
    CHECK(has(with("2.5", "3.5"), "line 2"));
    const auto begin = text.find('\n') + 1, end = text.find('\n', begin) + 1;
    rldp::write_file(path, text.substr(0, begin) + text.substr(end));
    CHECK(has(refusal([&] { read_ledger(path); }), "a line was removed"));
}

TEST_CASE("a rank's copy takes the looks that came between its steps") {
    const scratch_directory dir;
    const auto path = dir / "ledger.jsonl";
    auto subject = ledger::create(path, header_with(3, 2.5));
    subject.append_look(0);
    ledger_copy copy(rldp::read_file(path));
    CHECK(copy.add(format_charge(subject.append(1, 1, 0.01, {})))->seq == 1);
    subject.append_look(1);
    CHECK(copy.add(format_charge(subject.append(2, 1, 0.01, {})))->seq == 2);
    CHECK(copy.content().looks.size() == 2);
    CHECK(copy.content().end().hash == subject.content().end().hash);
}

TEST_CASE("looks that cost more than is promised don't verify") {
    auto header = header_with(3, 1);
    header.sample_rate = 0.01;
    header.epsilon_guaranteed = 0;
    header.epsilon_budget = 1;
    const auto policy = make_policy(rldp::policy_kind::fixed, {.epsilon_budget = 1,
                                                               .delta = header.delta,
                                                               .sample_rate = 0.01,
                                                               .steps = 10,
                                                               .interval = 1,
                                                               .accountant = "pld"});
    header.epsilon_guaranteed = policy->epsilon_guaranteed();
    const scratch_directory dir;
    ledger::create(dir / "much.jsonl", header);
    CHECK(has(refusal([&] { verify(read_ledger(dir / "much.jsonl")); }), "looks at held-out units"));
    header.looks.noise_multiplier = noise_of_looks(3, header.epsilon_guaranteed, header.delta);
    ledger::create(dir / "enough.jsonl", header);
    CHECK(verify(read_ledger(dir / "enough.jsonl")).looks_epsilon <= header.epsilon_guaranteed);
}

// Run logs that lack lines, or hold others.
#include "run/artifacts/run_log.hpp"

#include <functional>

#include "base/files.hpp"
#include "tests/catch.hpp"
#include "tests/eval/report/fake_finished_run.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::testing;

namespace {

using lines = std::vector<std::string>;

struct logged_run {
    scratch_directory scratch;
    std::filesystem::path log = scratch / "metrics.jsonl";
    privacy::ledger_content ledger = charged("ledger.jsonl", 0);
    lines whole = written([](const auto& line) { return eval::to_json(line); });

    /// The ledger of a run of 40 steps, the last `missing` not charged; of another multiplier it is another run's.
    privacy::ledger_content charged(const std::string& name, std::int64_t missing,
                                    const std::vector<std::string>& set = {}) const {
        write_ledger(scratch / name, small_config(set), {}, missing);
        return privacy::read_ledger(scratch / name);
    }
    template <class Text>
    lines written(Text text) const {
        lines out;
        for (auto& line : make_log(ledger)) out.push_back(eval::with_checksum(text(line)));
        return out;
    }
    void put(const lines& all) const {
        std::string text;
        for (const auto& line : all) text += line + "\n";
        write_file(log, text);
    }
    std::string verdict() const {
        return refusal([&] { eval::check_log(log, ledger); });
    }
    /// What a resume finds whose checkpoint is of that step.
    eval::found_log found(std::int64_t last) const { return eval::find_log(log, ledger, last); }
};

/// As every version before wrote it.
std::string without_name(eval::metrics_line line) {
    line.ledger.clear();
    return eval::to_json(line);
}

struct damage {
    std::string name, verdict;  ///< of a run that has ended
    std::function<void(const logged_run&)> make;
    std::vector<std::int64_t> missing;  ///< for a resume from a checkpoint of step 20
};

std::vector<std::int64_t> counted(std::int64_t from, std::int64_t to) {
    std::vector<std::int64_t> out;
    for (; from <= to; ++from) out.push_back(from);
    return out;
}

// Line n is step n - 1's.
std::vector<damage> damages() {
    const auto edit = [](const std::function<void(lines&)>& change) {
        return [change](const logged_run& run) {
            auto all = run.whole;
            change(all);
            run.put(all);
        };
    };
    return {
        {"deleted", "is missing", [](const auto& run) { std::filesystem::remove(run.log); }, counted(1, 20)},
        {"emptied", "has lines of 0 steps, and the ledger charged 40", edit([](auto& all) { all.clear(); }),
         counted(1, 20)},
        {"zeroes", "has lines of 0 steps",
         [](const auto& run) { write_file(run.log, std::string(std::filesystem::file_size(run.log), '\0')); },
         counted(1, 20)},
        {"cut at a line", "has lines of 4 steps", edit([](auto& all) { all.resize(5); }), counted(5, 20)},
        {"cut inside a line", "has lines of 4 steps",
         [](const auto& run) {
             const auto text = read_file(run.log);
             write_file(run.log, text.substr(0, text.find("{\"step\":5") + 30));
         },
         counted(5, 20)},
        {"lines removed", "metrics.jsonl:11: is step 15's, where step 10's is due",
         edit([](auto& all) { all.erase(all.begin() + 10, all.begin() + 15); }), counted(10, 14)},
        {"lines swapped",
         "metrics.jsonl:4: is step 4's, where step 3's is due",
         edit([](auto& all) { std::swap(all[3], all[4]); }),
         {}},
        {"a line doubled",
         "metrics.jsonl:5: is step 3's, where step 4's is due",
         edit([](auto& all) { all.insert(all.begin() + 3, all[3]); }),
         {}},
        {"a line too many",
         "metrics.jsonl:42: is step 40's, where the ledger has charged 40 steps",
         edit([](auto& all) { all.push_back(all.back()); }),
         {}},
        {"a digit changed",
         "metrics.jsonl:8: metrics line: its checksum is another one",
         edit([](auto& all) { all[7][20] ^= 1; }),
         {7}},
        {"another run's", "metrics.jsonl:1: is of another run",
         [](const auto& run) {
             eval::write_metrics(run.log, make_log(run.charged("other.jsonl", 0, {"privacy.epsilon=1"})));
         },
         counted(1, 20)},
        {"a line of another run's",
         "metrics.jsonl:13: is of another run",
         edit([](auto& all) {
             auto line = eval::parse_metrics_line(eval::without_checksum(all[12]));
             line.ledger.replace(0, 4, line.ledger[0] == '0' ? "1111" : "0000");
             all[12] = eval::with_checksum(eval::to_json(line));
         }),
         {12}},
    };
}

}  // namespace

TEST_CASE("a whole run log has a line for every step charged, with or without one before the first") {
    const logged_run run;
    run.put(run.whole);
    const auto seen = eval::check_log(run.log, run.ledger);
    CHECK(seen.steps == 40);
    CHECK(seen.unnamed == 0);
    CHECK(seen.lost.empty());
    run.put({run.whole.begin() + 1, run.whole.end()});
    CHECK(eval::check_log(run.log, run.ledger).steps == 40);
    // Interrupted in order, it is as long as its ledger.
    run.put({run.whole.begin(), run.whole.begin() + 31});
    CHECK(eval::check_log(run.log, run.charged("shorter.jsonl", 10)).steps == 30);
}

TEST_CASE("a log that is not the whole log of its run is refused by the line, and a resume knows what it lacks") {
    for (const auto& one : damages()) {
        INFO(one.name);
        const logged_run run;
        run.put(run.whole);
        one.make(run);
        CHECK(has(run.verdict(), one.verdict));
        const auto found = run.found(20);
        CHECK(found.missing == one.missing);
        CHECK(found.lines.size() + found.missing.size() >= 20);
        for (const auto& line : found.lines) {
            CHECK(line.step <= 20);
            CHECK(line.ledger == run.ledger.find_hash(line.step));
        }
        CHECK(run.found(0).missing.empty());  // without a checkpoint every line is made again
    }
}

TEST_CASE("lines of earlier versions, which name no line of the ledger, are judged by their numbers") {
    const logged_run run;
    auto all = run.written(without_name);
    run.put(all);
    CHECK(eval::check_log(run.log, run.ledger).unnamed == 41);
    CHECK(run.found(20).missing.empty());
    // Of a run that this version went on with.
    std::copy(run.whole.begin() + 21, run.whole.end(), all.begin() + 21);
    run.put(all);
    CHECK(eval::check_log(run.log, run.ledger).unnamed == 21);
    all.erase(all.begin() + 6);
    run.put(all);
    CHECK(has(run.verdict(), "metrics.jsonl:7: is step 7's, where step 6's is due"));
    CHECK(run.found(20).missing == std::vector<std::int64_t>{6});
}

TEST_CASE("the line that stands for a lost one is its step's, and is counted") {
    const logged_run run;
    auto all = run.whole;
    all[12] = eval::with_checksum(eval::to_json(eval::lost_line(run.ledger, 12)));
    run.put(all);
    const auto seen = eval::check_log(run.log, run.ledger);
    CHECK(seen.steps == 40);
    CHECK(seen.lost == std::vector<std::int64_t>{12});
    CHECK(run.found(20).missing.empty());
}

TEST_CASE("steps in words") {
    CHECK(eval::steps_in_words({3}) == "step 3");
    CHECK(eval::steps_in_words({3, 10, 11, 12, 14}) == "steps 3, 10 to 12 and 14");
    CHECK(eval::steps_in_words({1, 2}) == "steps 1 to 2");
    CHECK(eval::steps_in_words({1, 3, 5, 7, 9, 11, 13, 15, 17, 19}) == "steps 1, 3, 5, 7, 9, 11, 13 and 3 more");
}

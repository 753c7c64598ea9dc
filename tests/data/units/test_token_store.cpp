// Units as tokens in one row, and the way there that holds no texts.
#include <algorithm>
#include <fstream>
#include <random>
#include <set>
#include <stdexcept>

#include "data/sources/tables.hpp"
#include "data/sources/text.hpp"
#include "data/units/load_tokens.hpp"
#include "tests/catch.hpp"
#include "tests/data/units/bytes_of.hpp"
#include "tests/support/corpus.hpp"
#include "tests/support/owned.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::data;

namespace {

using tokens = std::vector<std::int32_t>;

/// Records of one to some words, some of them equal, some of a byte alone.
std::string random_text(std::mt19937_64& random) {
    std::string out(1, static_cast<char>('a' + random() % 26));
    for (auto words = random() % 4; words > 0; --words) out += " word" + std::to_string(random() % 6);
    return out;
}

void check_equal(const token_store& found, const std::vector<token_unit>& expected) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) REQUIRE(owned(found[i]).records == expected[i].records);
}

/// Both ways to tokens, on one thread and on several.
void check_both_ways(const source& from, const split_rule& split) {
    for (const bool tail : {false, true})
        for (const int threads : {1, 3}) {
            const auto texts = load_corpus(from, split);
            const auto train = tokenise(texts.train, encode_bytes, 9, tail, threads);
            const auto found = load_tokens(
                from, split, {.encode = encode_bytes, .max_tokens = 9, .keep_tail = tail, .threads = threads});
            check_equal(found.train, train.units);
            std::vector<tokens> held_out;
            for (const auto& unit : tokenise(texts.eval, encode_bytes, 9, tail, threads).units)
                held_out.insert(held_out.end(), unit.records.begin(), unit.records.end());
            std::erase_if(held_out, [](const auto& record) { return record.size() < 2; });
            REQUIRE(found.held_out.records.size() == held_out.size());
            for (std::size_t i = 0; i < held_out.size(); ++i) CHECK(found.held_out.records[i].tokens == held_out[i]);
            CHECK(found.records == train.records);
            CHECK(found.cut == train.cut);
            CHECK(found.digest == texts.digest);
            CHECK(found.warnings == texts.warnings);
            std::vector<std::pair<std::uint64_t, std::string>> planted;
            for (const auto& u : texts.train)
                if (u.canary) planted.emplace_back(u.id, *u.canary);
            CHECK(found.planted == planted);
        }
}

}  // namespace

TEST_CASE("a store gives back what it was given") {
    const std::vector<token_unit> units{{{{1, 2}, {3, 4, 5}}, {}}, {{}, 7}, {{{6, 7}}, {}}};
    token_store store(units);
    store.push_back({{{8, 9}}, {}});
    REQUIRE(store.size() == 4);
    CHECK(owned(store[0]).records == units[0].records);
    CHECK(owned(store[1]).records.empty());
    CHECK(store[1].gradient_canary == 7);
    CHECK_FALSE(store[2].gradient_canary);
    CHECK(owned(store[3]).records == std::vector<tokens>{{8, 9}});
    CHECK(token_store().empty());
    const auto moved = std::move(store);
    CHECK(moved.size() == 4);
    CHECK(store.empty());  // NOLINT: that is the question
}

TEST_CASE("records are collected in any order, from several workers and blocks") {
    token_collector collector;
    collector.begin({0, 2, 2, 3}, 2);
    collector.take(1, 2, {5, 6});
    collector.take(0, 1, {3, 4});
    collector.settle();
    collector.take(0, 0, {1, 2});
    const auto made = collector.finish();
    REQUIRE(made.size() == 3);
    CHECK(owned(made[0]).records == std::vector<tokens>{{1, 2}, {3, 4}});
    CHECK(owned(made[1]).records.empty());
    CHECK(owned(made[2]).records == std::vector<tokens>{{5, 6}});
}

TEST_CASE("tokens read block by block are those of the texts read at once") {
    const scratch_directory at;
    std::mt19937_64 random(21);
    std::string csv = "id,who,note\n", plain, lines;
    for (int i = 0; i < 400; ++i) {
        const auto text = random_text(random), who = std::to_string(random() % 60);
        csv += std::to_string(i) + "," + who + ",\"" + text + (i % 9 == 0 ? "\n" : "") + "\"\n";
        plain += text + "\n";
        lines += R"({"text": ")" + text + R"(", "who": )" + who + "}\n";
    }
    const auto table = at.write("t.csv", csv), keyed = at.write("k.json", R"({"record": "id", "leave_out": ["who"]})"),
               keyless = at.write("n.json", R"({"leave_out": ["id"]})"), json = at.write("t.jsonl", lines);
    const std::vector<source> all{{table, {}, keyed, {}},
                                  {table, {}, keyless, {}},
                                  {table, {}, keyless, "who"},
                                  {json, {}, {}, {}},
                                  {json, {}, {}, "who"},
                                  {at.write("t.txt", plain), {}, {}, {}},
                                  {"synthetic:300", {}, "config/narrative-uci-brief.json", {}}};
    const auto which = GENERATE(range(0, 7));
    const auto& from = all[static_cast<std::size_t>(which)];
    for (const auto how : {rldp::split_kind::hash, rldp::split_kind::exact}) {
        split_rule split;
        split.how = how;
        split.canaries = 5;
        split.max_records = 3;
        check_both_ways(from, split);
    }
}

TEST_CASE("every record is inspected before its secret is planted") {
    const scratch_directory at;
    split_rule split;
    split.canaries = 1;
    split.population = 2;
    const source from{at.write("t.txt", "alpha\nbeta\ngamma\ndelta\nepsilon\nzeta\n"), {}, {}, {}};
    std::set<std::string> seen;
    load_tokens(from, split, {.encode = encode_bytes, .max_tokens = 90, .inspect = [&](const record& rendered) {
                                  seen.insert(rendered.text);
                              }});
    CHECK(seen == std::set<std::string>{"alpha", "beta", "gamma", "delta", "epsilon", "zeta"});
    CHECK_THROWS_WITH(load_tokens(from, split,
                                  {.encode = encode_bytes,
                                   .max_tokens = 90,
                                   .threads = 3,
                                   .inspect = [](const record& rendered) { throw std::runtime_error(rendered.text); }}),
                      "alpha");
}

TEST_CASE("a file that changes while it is read is refused") {
    const scratch_directory at;
    std::string text;
    for (int i = 0; i < 50'000; ++i) text += std::string(90, 'x') + std::to_string(i) + "\n";  // some pieces
    const auto path = at.write("t.txt", text);
    const bool grows = GENERATE(true, false);
    bool changed = false;
    const auto change = [&](const std::string& record) {
        if (!changed && grows) std::ofstream(path, std::ios::app) << "one more\n";
        if (!changed && !grows) std::filesystem::resize_file(path, text.size() - 96);
        changed = true;
        return encode_bytes(record);
    };
    const auto line = refusal([&] {
        load_tokens({path, {}, {}, {}}, split_rule{}, {.encode = change, .max_tokens = 9});
    });
    CHECK(has(line, "t.txt: changed while it was read"));
}

TEST_CASE("a file is cut into pieces at line ends, not inside quotes") {
    const scratch_directory at;
    std::mt19937_64 random(22);
    const std::string symbols = "ab,\"\"\n\n\r";
    for (int round = 0; round < 300; ++round) {
        std::string text = "x";
        for (auto n = random() % 200; n > 0; --n) text += symbols[random() % symbols.size()];
        for (const bool quotes : {false, true}) {
            piece_reader pieces(at.write("t", text), quotes, 1 + random() % 40);
            for (int again = 0; again < 2; ++again, pieces.rewind()) {
                std::string joined;
                while (const auto part = pieces.next()) {
                    CHECK(part->line == 1 + static_cast<std::size_t>(std::count(joined.begin(), joined.end(), '\n')));
                    joined += part->text;
                    const bool open = quotes && std::count(joined.begin(), joined.end(), '"') % 2 != 0;
                    if (joined.size() < text.size()) CHECK((joined.ends_with('\n') && !open));
                }
                REQUIRE(joined == text);
            }
        }
    }
}

TEST_CASE("pieces after the first are checked, too, by the file's lines") {
    const scratch_directory at;
    piece_reader marked(at.write("t",
                                 "\xEF\xBB\xBF"
                                 "a\nb\n"),
                        false, 5);
    CHECK(marked.next()->text == "a\n");
    CHECK(marked.next()->text == "b\n");
    CHECK_FALSE(marked.next());
    piece_reader bad(at.write("t", "aaa\nbbb\nc\xFF\n"), false, 4);
    CHECK(bad.next()->line == 1);
    CHECK(bad.next()->line == 2);
    CHECK(has(refusal([&] { bad.next(); }), "t:3: invalid UTF-8"));
    CHECK(has(refusal([&] { piece_reader(at.write("t", ""), false).next(); }), "t: the file is empty"));
}

TEST_CASE("a CSV is the same in pieces as whole") {
    const scratch_directory at;
    std::string text = "a,b\n";
    for (int i = 0; i < 60'000; ++i)
        text += std::to_string(i) + ",\"some words" + (i % 5 == 0 ? "\n and more" : "") + "\"\n";
    const auto path = at.write("t.csv", text);
    const auto whole = read_csv(path);
    csv_stream stream(path);
    for (int again = 0; again < 2; ++again, stream.rewind()) {
        std::size_t row = 0, parts = 0;
        for (auto part = stream.next(); part; part = stream.next(), ++parts)
            for (std::size_t i = 0; i < part->rows(); ++i, ++row) {
                REQUIRE(part->line(i) == whole.line(row));
                REQUIRE(part->cell(i, 0) == whole.cell(row, 0));
                REQUIRE(part->cell(i, 1) == whole.cell(row, 1));
            }
        CHECK(row == whole.rows());
        CHECK(parts > 1);
    }
    csv_stream broken(at.write("t.csv", text + "1,2,3\n"));
    CHECK(has(refusal([&] {
                  while (broken.next()) {
                  }
              }),
              "t.csv:72002: the row has 3 fields"));
}

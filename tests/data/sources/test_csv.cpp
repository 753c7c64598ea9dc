#include <random>

#include "data/sources/tables.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::data;

TEST_CASE("RFC 4180 fields are read as written") {
    const auto rows = parse_csv(
        "\xEF\xBB\xBF"
        "a,b\r\n\"x,\"\"y\"\"\",\"two\r\nlines\"\r\n,\n\"\",last",
        "t.csv");
    REQUIRE(rows.columns() == std::vector<std::string>{"a", "b"});
    REQUIRE(rows.rows() == 3);
    CHECK(rows.cell(0, 0) == "x,\"y\"");
    CHECK(rows.cell(0, 1) == "two\r\nlines");
    CHECK(rows.cell(1, 0).empty());
    CHECK(rows.cell(1, 1).empty());
    CHECK(rows.cell(2, 1) == "last");
    CHECK(rows.line(0) == 2);
    CHECK(rows.line(1) == 4);  // the quoted field spans a line
    CHECK(rows.find("b") == std::size_t{1});
    CHECK_FALSE(rows.find("c"));
}

TEST_CASE("blank lines are skipped and one column is enough") {
    const auto rows = parse_csv("a\n1\n\n2\n\n", "t.csv");
    REQUIRE(rows.rows() == 2);
    CHECK(rows.cell(1, 0) == "2");
    CHECK(rows.line(1) == 4);
}

TEST_CASE("a CSV that is broken is refused with its line") {
    const auto refused = [](const std::string& text) { return refusal([&] { parse_csv(text, "t.csv"); }); };
    CHECK(has(refused(""), "t.csv: the file is empty"));
    CHECK(has(refused("\n\n"), "t.csv: the file is empty"));
    CHECK(has(refused("a,b\n1,2\n1,2,3\n"), "t.csv:3: the row has 3 fields, the header has 2"));
    CHECK(has(refused("a,b\n1,2\n\"x\ny\",2\n1\n"), "t.csv:5: the row has 1 field,"));
    CHECK(has(refused("a,b\n1,2\n3,\"4\n5,6\n"), "t.csv:3: unterminated quote"));
    CHECK(has(refused("a,b\n1,2\n3,\"4\n5\"x,6\n"), "t.csv:4: text after a closing quote"));
    CHECK(has(refused("a,b\n1,2\n3,4\"\n"), "t.csv:3: a quote inside an unquoted field"));
    CHECK(has(refused("a,b\n1,2\r3,4\n"), "t.csv:2: a carriage return"));
    CHECK(has(refused("a,a\n1,2\n"), "t.csv:1: column \"a\" is there twice"));
    CHECK(has(refusal([] { read_csv("/nowhere/t.csv"); }), "/nowhere/t.csv: no such file"));
}

TEST_CASE("only well-formed UTF-8 passes") {
    const auto refused = [](const std::string& bytes) {
        return refusal([&] { parse_csv("a\n1\n" + bytes + "\n", "t.csv"); });
    };
    for (const std::string good : {"\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xEF\xBF\xBF", "\xF4\x8F\xBF\xBF"})
        CHECK(refused(good).empty());
    // stray continuation, overlong (2, 3 and 4 bytes), surrogate, beyond U+10FFFF, cut short, Latin-1, never a lead
    for (const std::string bad : {"\x80", "\xC0\xAF", "\xE0\x80\xAF", "\xF0\x80\x80\xAF", "\xED\xA0\x80",
                                  "\xF4\x90\x80\x80", "\xE2\x82", "\xE4pfel", "\xFF"})
        CHECK(has(refused(bad), "t.csv:3: invalid UTF-8"));
}

TEST_CASE("whatever is written after RFC 4180 is read back") {
    std::mt19937_64 engine(7);
    const std::string symbols = "ab,\"\n\r ;";
    for (int round = 0; round < 200; ++round) {
        std::vector<std::vector<std::string>> cells(1 + engine() % 6, std::vector<std::string>(3));
        std::string text = "x,y,z\n";
        for (auto& row : cells)
            for (std::size_t c = 0; c < 3; ++c) {
                for (auto n = engine() % 6; n > 0; --n) row[c] += symbols[engine() % symbols.size()];
                std::string quoted = "\"";
                for (const char s : row[c]) quoted += s == '"' ? std::string("\"\"") : std::string(1, s);
                text += quoted + (c < 2 ? "\"," : engine() % 2 ? "\"\r\n" : "\"\n");
            }
        const auto rows = parse_csv(text, "t.csv");
        REQUIRE(rows.rows() == cells.size());
        for (std::size_t r = 0; r < cells.size(); ++r)
            for (std::size_t c = 0; c < 3; ++c) REQUIRE(rows.cell(r, c) == cells[r][c]);
    }
}

TEST_CASE("stacked code tables are read, trimmed") {
    const auto book = parse_code_book(
        "admission_type_id,description\r\n1,Emergency\r\n6,NULL\r\n,\r\n"
        "discharge_disposition_id,description\r\n19,\"Expired at home. Medicaid only, hospice.\"\r\n,\r\n"
        "admission_source_id,description\r\n1, Physician Referral\r\n",
        "ids.csv");
    CHECK(book.size() == 3);
    CHECK(book.at("admission_type_id").at("6") == "NULL");
    CHECK(book.at("discharge_disposition_id").at("19") == "Expired at home. Medicaid only, hospice.");
    CHECK(book.at("admission_source_id").at("1") == "Physician Referral");
    CHECK(has(refusal([] { parse_code_book("a,b\n1,x\n1,y\n", "ids.csv"); }), "ids.csv:3: code \"1\""));
    CHECK(has(refusal([] { parse_code_book("a,b\n1,x\n,\na,b\n", "ids.csv"); }), "ids.csv:4: a second table"));
    CHECK(has(refusal([] { parse_code_book("a,b,c\n1,x,y\n", "ids.csv"); }), "ids.csv:1: a code table has two"));
}

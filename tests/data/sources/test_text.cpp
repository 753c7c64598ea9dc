#include "data/sources/text.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::data;

TEST_CASE("JSON lines hold objects or strings") {
    const scratch_directory at;
    const auto path = at.write("t.jsonl", "{\"text\": \"caf\\u00e9\", \"who\": 7}\r\n\n\"bare\"\n");
    const auto records = read_jsonl(path, std::nullopt);
    REQUIRE(records.size() == 2);
    CHECK(records[0].text == "caf\xC3\xA9");
    CHECK(records[1].text == "bare");
    const auto grouped =
        read_jsonl(at.write("g.jsonl", "{\"text\":\"a\",\"who\":7}\n{\"who\":\"x\",\"text\":\"b\"}"), "who");
    REQUIRE(grouped.size() == 2);
    CHECK(grouped[0].group == "7");
    CHECK(grouped[1].group == "x");
}

TEST_CASE("a JSON line that is broken is refused with its line") {
    const scratch_directory at;
    const auto refused = [&](const std::string& line, std::optional<std::string> group = {}) {
        const auto path = at.write("t.jsonl", "{\"text\":\"a\",\"who\":1}\n\n" + line + "\n");
        return refusal([&] { read_jsonl(path, group); });
    };
    CHECK(has(refused("{\"text\": \"a\""), "t.jsonl:3: not a JSON value"));
    CHECK(has(refused(std::string("\"a\"\0 b", 6)), "t.jsonl:3: not a JSON value"));
    CHECK(has(refused("[1]"), "t.jsonl:3: neither an object nor a string"));
    CHECK(has(refused("{\"note\": \"a\"}"), "t.jsonl:3: the object has no string under \"text\""));
    CHECK(has(refused("{\"text\": 5}"), "t.jsonl:3: the object has no string under \"text\""));
    CHECK(has(refused("\" \""), "t.jsonl:3: the record's text is empty"));
    CHECK(has(refused("\"bare\"", "who"), "t.jsonl:3: a bare string has no unit's key \"who\""));
    for (const std::string who : {"null", "\"\"", "1.5", "[1]"})
        CHECK(has(refused("{\"text\":\"a\",\"who\":" + who + "}", "who"),
                  "t.jsonl:3: the unit's key \"who\" is missing"));
    CHECK(has(refused("{\"text\":\"a\"}", "who"), "t.jsonl:3: the unit's key \"who\" is missing"));
    CHECK(has(refused("\"\xFF\""), "t.jsonl:3: invalid UTF-8"));
}

TEST_CASE("plain text holds a record per line") {
    const scratch_directory at;
    const auto records = read_lines(at.write("t.txt", "\xEF\xBB\xBFone\r\n\r\n  \ntwo"));
    REQUIRE(records.size() == 2);
    CHECK(records[0].text == "one");
    CHECK(records[1].text == "two");
}

// JSON as users write it.
#include "config/values.hpp"
#include "tests/support/refusal.hpp"

#include "tests/catch.hpp"

using namespace rldp;

namespace {
std::string not_json(const std::string& text) {
    return refusal([&] { config::parse_object(text, "f.json"); });
}
}  // namespace

TEST_CASE("syntax errors name line and column") {
    CHECK(not_json("{\n  \"a\": 1,\n  \"b\" 2\n}").find("f.json: line 3, column 7: not JSON: ") == 0);
    CHECK(not_json("").find("f.json: line 1, column 1: ") == 0);
    CHECK(not_json("{\"a\": NaN}").find("f.json: line 1, column 7") == 0);
    CHECK(not_json("{\"a\": 1} x").find("f.json: line 1, column 10") == 0);
    CHECK(not_json("{\"a\": 1,}").find("f.json: line 1, column 9") == 0);
}

TEST_CASE("a comma that is missing is told where it should stand") {
    const auto missing = [](const std::string& text) {
        const auto said = not_json(text);
        const std::string end = ": not JSON: a comma is missing behind this value";
        return said.ends_with(end) ? said.substr(8, said.size() - 8 - end.size()) : "other: " + said;
    };
    CHECK(missing("{\n  \"a\": 1,\n  \"b\": \"x\"\n  \"c\": 2\n}") == "line 3, column 10");
    CHECK(missing(R"({"a": [1 2]})") == "line 1, column 8");
    CHECK(missing(R"({"a": ["x" "y \" z"]})") == "line 1, column 10");
    CHECK(missing("[{}\n{}]") == "line 1, column 3");
    CHECK(missing("{\"a\": {\"b\": 1}\r\n\t\"c\": []}") == "line 1, column 14");
    CHECK(missing(R"({"a" 1})").starts_with("other"));
    CHECK(missing(R"({"a": 1)").starts_with("other"));
    CHECK(missing(R"("a" "b")").starts_with("other"));
}

TEST_CASE("nothing but space follows the document, which a zero byte does not end") {
    const std::string zero(1, '\0');
    CHECK(not_json("{\"a\": 1}" + zero) == "f.json: line 1, column 9: not JSON: a zero byte");
    CHECK(not_json("{\"a\": 1}\n" + zero + "{}") == "f.json: line 2, column 1: not JSON: a zero byte");
    CHECK(not_json("{\"a\": " + zero + "1}").find("f.json: line 1, column 7: not JSON: ") == 0);
    CHECK(not_json("{\"a\": 1}\n\t \r\n").empty());
}

TEST_CASE("an object of very many objects is read") {
    std::string text = "{\"a\": 1";
    for (int i = 0; i < 20'000; ++i) text += ", \"" + std::to_string(i) + "\": {}";
    CHECK(config::parse_object(text + "}", "f.json").size() == 20'001);
    CHECK(not_json(text + ", \"a\": {}}") == "f.json: a appears twice; keep one of the two");
}

TEST_CASE("what is too long for a configuration is refused before it takes time") {
    std::string text = "{\"a\": 1";
    for (int i = 0; i < 300'000; ++i) text += ", \"" + std::to_string(i) + "\": {}";
    CHECK(has(not_json(text + "}"), "f.json: 4088898 bytes; a configuration has at most 262144"));
}

TEST_CASE("every message is one printable line") {
    for (const std::string bad :
         {"{\"a\n\": 1}", "{\"\xff\": 1}", "{\"a\": \"\x01\"}", "\x1b[31m", "{\n\n", "[1,\n2]", "7"}) {
        const auto message = not_json(bad);
        CHECK_FALSE(message.empty());
        for (const unsigned char c : message) CHECK(c >= 0x20);
        CHECK(message.find("json.exception") == std::string::npos);
    }
}

TEST_CASE("a key that appears twice is refused with its path") {
    CHECK(not_json(R"({"a": {"b": 1, "c": 2, "b": 3}})") == "f.json: a.b appears twice; keep one of the two");
    CHECK(not_json(R"({"a": {}, "a": {}})") == "f.json: a appears twice; keep one of the two");
    CHECK(not_json(R"({"a": {"x": 1}, "b": {"x": 1}, "c": [{"x": 1}, {"x": 1}]})").empty());
}

TEST_CASE("numbers beyond a double are refused with their path") {
    const auto message = not_json(R"({"a": {"b": 1e999}})");
    CHECK(message.find("f.json: a.b: ") == 0);
    CHECK(message.find("1e999") != std::string::npos);
}

TEST_CASE("the document is an object") {
    for (const auto* other : {"[]", "1", "null", "\"x\""})
        CHECK(not_json(other).find("write an object") != std::string::npos);
    CHECK(config::parse_object("\n {} \n", "f.json").empty());
}

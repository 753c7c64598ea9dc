#include "data/sources/json_lines.hpp"
#include "data/sources/records.hpp"
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
    CHECK(has(refused("{\"text\": \"a\""), "t.jsonl:3: column 13: no JSON: unexpected end of input"));
    CHECK(has(refused(std::string("\"a\"\0 b", 6)), "t.jsonl:3: a zero byte"));
    CHECK(has(refused("[1]"), "t.jsonl:3: a list; write one value per line"));
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

namespace {

/// A template that has an end token.
chat_template plain_chat(const scratch_directory& at) {
    at.write("tokenizer_config.json", R"({"eos_token": "</s>"})");
    at.write("chat_template.jinja",
             "{% for m in messages %}{% if m.role == 'nobody' %}{{ raise_exception('nobody speaks') }}{% endif %}"
             "[{{ m.role }}] {{ m.content }}{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
             "{% if add_generation_prompt %}[assistant] {% endif %}");
    return *chat_template::read(at.path());
}

}  // namespace

TEST_CASE("JSON lines hold conversations, of which answers are learned") {
    const scratch_directory at;
    const auto how = std::make_shared<const chat_template>(plain_chat(at));
    const auto path = at.write(
        "t.jsonl",
        R"({"who": 7, "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]})"
        "\n"
        R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}], "who": 8})"
        "\n");
    const auto stream = open_records({.path = path, .ids_mapping = {}, .narrative = {}, .group = "who", .chat = how});
    const auto block = stream->next();
    REQUIRE(block);
    REQUIRE(block->size() == 2);
    const auto first = block->at(0);
    CHECK(first.text == "[user] Hi[assistant] Ho</s>");
    CHECK(first.group == "7");
    REQUIRE(first.answers.size() == 1);
    CHECK(first.text.substr(first.answers[0].begin) == "Ho</s>");
    CHECK(first.answers[0].end == first.text.size());
    CHECK(block->at(1).text == "[user] ab");
    CHECK(block->at(1).answers.empty());
    const auto refused = [&](const std::string& line) {
        const auto bad = at.write("bad.jsonl", "\n" + line + "\n");
        return refusal([&] {
            open_records({.path = bad, .ids_mapping = {}, .narrative = {}, .group = {}, .chat = how})->next()->at(0);
        });
    };
    CHECK(has(refused("{"), "bad.jsonl:2: column 2: no JSON"));
    CHECK(has(refused("\"text\""), "bad.jsonl:2: not an object"));
    CHECK(has(refused(R"({"text": "a"})"), "bad.jsonl:2: no list of messages"));
    CHECK(has(refused(R"({"messages": []})"), "bad.jsonl:2: no list of messages"));
    CHECK(has(refused(R"({"messages": ["a"]})"), "bad.jsonl:2: message 1 has no text"));
    CHECK(has(refused(R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": null}]})"),
              "bad.jsonl:2: message 2 has no text"));
    CHECK(has(refused(R"({"messages": [{"role": "user", "content": [{"type": "image"}]}]})"), "message 1 has no text"));
    const auto nobody = refused(R"({"messages": [{"role": "nobody", "content": "a"}]})");
    CHECK(has(nobody, "bad.jsonl:2: "));
    CHECK(has(nobody, "nobody speaks"));
    CHECK(has(refusal([&] {
                  open_records(
                      {.path = at.write("t.txt", "a"), .ids_mapping = {}, .narrative = {}, .group = {}, .chat = how});
              }),
              "data.chat asks for JSON lines"));
    CHECK(has(refusal([&] { read_jsonl(path, std::nullopt); }),
              "t.jsonl:1: the object has no string under \"text\", but"));
}

TEST_CASE("plain text holds a record per line") {
    const scratch_directory at;
    const auto records = read_lines(at.write("t.txt", "\xEF\xBB\xBFone\r\n\r\n  \ntwo"));
    REQUIRE(records.size() == 2);
    CHECK(records[0].text == "one");
    CHECK(records[1].text == "two");
}

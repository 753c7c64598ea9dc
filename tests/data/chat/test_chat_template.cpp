#include "data/chat/chat_template.hpp"

#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "tests/catch.hpp"
#include "tests/data/chat/styles.hpp"
#include "tests/data/chat/try_template.hpp"
#include "tests/support/refusal.hpp"

using rldp::data::chat_template;

TEST_CASE("a model's own file comes before its tokenizer's configuration, and either may be missing") {
    const scratch_directory model;
    CHECK_FALSE(chat_template::read(model.path()));
    CHECK_FALSE(chat_template::read(model / "missing"));
    model.write("tokenizer_config.json", R"({"chat_template": null})");
    CHECK_FALSE(chat_template::read(model.path()));
    model.write("tokenizer_config.json", R"({"chat_template": "one {{ bos_token is defined }}"})");
    CHECK(chat_template::read(model.path())->render({}, false) == "one False");
    CHECK(chat_template::read(model.path())->bos().empty());
    model.write(
        "tokenizer_config.json",
        R"({"bos_token": {"content": "<s>", "special": true}, "eos_token": "</s>", "chat_template": [)"
        R"({"name": "tool_use", "template": "{%"}, {"name": "default", "template": "two{{ bos_token + eos_token }}"}]})");
    CHECK(chat_template::read(model.path())->render({}, false) == "two<s></s>");
    CHECK(chat_template::read(model.path())->bos() == "<s>");
    model.write("chat_template.jinja", "three{{ bos_token }}{{ add_generation_prompt }}");
    CHECK(chat_template::read(model.path())->render({}, true) == "three<s>True");
    CHECK(chat_template::read(model.path())->bos() == "<s>");
}

TEST_CASE("a model's files are refused by name where they hold no template") {
    const scratch_directory model;
    const auto line = [&](const std::string& name, const std::string& bytes) {
        model.write(name, bytes);
        return refusal([&] { chat_template::read(model.path()); });
    };
    const auto configuration = (model / "tokenizer_config.json").string();
    for (const char* wrong : {R"({"chat_template": 1})", R"({"chat_template": []})", R"({"chat_template": ["x"]})",
                              R"({"chat_template": [{"name": "other", "template": "x"}]})"})
        CHECK(line("tokenizer_config.json", wrong).starts_with(configuration + ": key 'chat_template'"));
    CHECK(line("tokenizer_config.json", R"({"bos_token": 1})").starts_with(configuration + ": key 'bos_token'"));
    CHECK(line("tokenizer_config.json", "{").starts_with(configuration + ": "));
    CHECK(line("tokenizer_config.json", R"({"chat_template": "a\n{% if %}"})")
              .starts_with(configuration + ": chat_template: line 2: "));
    model.write("tokenizer_config.json", "{}");
    const auto own = (model / "chat_template.jinja").string();
    CHECK(line("chat_template.jinja", "\xff") == own + ": not UTF-8");
    CHECK(has(line("chat_template.jinja", std::string(1, '\0')), own));
    CHECK(
        line("chat_template.jinja", std::string((1 << 20) + 1, 'x')).starts_with(own + ": longer than 1048576 bytes"));
}

TEST_CASE("special tokens that are no option of a template stay undefined") {
    CHECK(rendered("{{ pad_token is defined }}{{ cls_token is defined }}{{ unk_token }}") == "FalseFalse<unk>");
}

TEST_CASE("without a date no template learns what day it is, so that records are the same tomorrow") {
    const scratch_directory model;
    model.write("chat_template.jinja",
                "{% if strftime_now is defined %}{{ strftime_now('%Y') }}{% else %}some day{% endif %}");
    CHECK(chat_template::read(model.path())->render(short_talk, false) == "some day");
    using namespace std::chrono;
    CHECK(chat_template::read(model.path(), 2026y / January / 31d)->render(short_talk, false) == "2026");
}

TEST_CASE("one template serves several threads") {
    static_assert(
        std::is_same_v<decltype(&chat_template::render),
                       std::string (chat_template::*)(std::span<const rldp::data::chat_message>, bool) const>);
    const auto shared = as_template(styles::llama3);
    const auto expected = shared.render(short_talk, true);
    std::vector<std::string> seen(4);
    std::vector<std::thread> threads;
    threads.reserve(seen.size());
    for (auto& out : seen)
        threads.emplace_back([&shared, &out] {
            for (int i = 0; i < 20; ++i) out = shared.render(short_talk, true);
        });
    for (auto& one : threads) one.join();
    for (const auto& out : seen) CHECK(out == expected);
}

#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/data/chat/styles.hpp"
#include "tests/data/chat/try_template.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp::data;

namespace {

const std::vector<chat_message> two_turns = {{"system", "Be brief."},
                                             {"user", " What is DP? "},
                                             {"assistant", "A promise.\n"},
                                             {"user", "Größe?"},
                                             {"assistant", "ε"}};

struct known_style {
    const char* source;
    std::size_t messages;              ///< of those above
    std::string whole, prompt;         ///< prompt: of the first two messages
    std::vector<std::string> answers;  ///< by hand from the two
};

/// Expected: jinja2 3.1.6, set up as Hugging Face does.
const std::vector<known_style>& known_styles() {
    static const std::vector<known_style> all = {
        {styles::chatml,
         5,
         "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhat is DP?<|im_end|>\n<|im_start|>assistant\nA "
         "promise.<|im_end|>\n<|im_start|>user\nGröße?<|im_end|>\n<|im_start|>assistant\nε<|im_end|>\n",
         "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhat is DP?<|im_end|>\n<|im_start|>assistant\n",
         {"A promise.<|im_end|>\n", "ε<|im_end|>\n"}},
        {styles::llama2,
         5,
         "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\n What is DP? [/INST] A promise. </s><s>[INST] Größe? [/INST] ε "
         "</s>",
         "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\n What is DP? [/INST]",
         {" A promise. </s>", " ε </s>"}},
        {styles::llama3,
         5,
         "<s><|start_header_id|>system<|end_header_id|>\n\nDate: 31 Jan 2026\n\nBe "
         "brief.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWhat is "
         "DP?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nA "
         "promise.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nGröße?<|eot_id|><|start_header_id|>assistant<|"
         "end_header_id|>\n\nε<|eot_id|>",
         "<s><|start_header_id|>system<|end_header_id|>\n\nDate: 31 Jan 2026\n\nBe "
         "brief.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWhat is "
         "DP?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
         {"A promise.<|eot_id|>", "ε<|eot_id|>"}},
        {styles::mistral,
         5,
         "<s>[INST] Be brief.\n\n What is DP? [/INST] A promise.</s>[INST] Größe?[/INST] ε</s>",
         "<s>[INST] Be brief.\n\n What is DP? [/INST]",
         {" A promise.</s>", " ε</s>"}},
        {styles::gemma,
         5,
         "<s><start_of_turn>user\nBe brief.\n\nWhat is DP?<end_of_turn>\n<start_of_turn>model\nA "
         "promise.<end_of_turn>\n<start_of_turn>user\nGröße?<end_of_turn>\n<start_of_turn>model\nε<end_of_turn>\n",
         "<s><start_of_turn>user\nBe brief.\n\nWhat is DP?<end_of_turn>\n<start_of_turn>model\n",
         {"A promise.<end_of_turn>\n", "ε<end_of_turn>\n"}},
        {styles::zephyr,
         5,
         "<|system|>\nBe brief.</s>\n<|user|>\n What is DP? </s>\n<|assistant|>\nA "
         "promise.\n</s>\n<|user|>\nGröße?</s>\n<|assistant|>\nε</s>\n",
         "<|system|>\nBe brief.</s>\n<|user|>\n What is DP? </s>\n<|assistant|>\n",
         {"A promise.\n</s>\n", "ε</s>\n"}},
        {styles::phi3,
         3,
         "<|system|>\nBe brief.<|end|>\n<|user|>\n What is DP? <|end|>\n<|assistant|>\nA promise.\n<|end|>\n</s>",
         "<|system|>\nBe brief.<|end|>\n<|user|>\n What is DP? <|end|>\n<|assistant|>\n",
         {"A promise.\n<|end|>\n</s>"}},
        {styles::qwen3,
         3,
         "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n What is DP? "
         "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\nA promise.\n<|im_end|>\n",
         "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n What is DP? <|im_end|>\n<|im_start|>assistant\n",
         {"<think>\n\n</think>\n\nA promise.\n<|im_end|>\n"}},
        {styles::deepseek,
         5,
         "<s>Be brief.<｜User｜> What is DP? <｜Assistant｜>A "
         "promise.\n<｜end▁of▁sentence｜><｜User｜>Größe?<｜Assistant｜>ε<｜end▁of▁sentence｜>",
         "<s>Be brief.<｜User｜> What is DP? <｜Assistant｜>",
         {"A promise.\n<｜end▁of▁sentence｜>", "ε<｜end▁of▁sentence｜>"}},
    };
    return all;
}

std::vector<std::string> answers_of(const chat_text& in) {
    std::vector<std::string> out;
    for (const auto& [begin, end] : in.answers) out.push_back(in.text.substr(begin, end - begin));
    return out;
}

std::string refused(const std::string& source, const std::vector<chat_message>& messages) {
    return refusal([&] { as_template(source).conversation(messages); });
}

}  // namespace

TEST_CASE("templates like those of well-known models give their texts, and show where the answers stand") {
    for (const auto& style : known_styles()) {
        INFO(style.source);
        const auto read = as_template(style.source);
        const auto messages = std::span(two_turns).first(style.messages);
        CHECK(read.render(messages, false) == style.whole);
        CHECK(read.render(messages.first(2), true) == style.prompt);
        const auto all = read.conversation(messages);
        CHECK(all.text == style.whole);
        CHECK(answers_of(all) == style.answers);
    }
}

TEST_CASE("a conversation without an answer has none") {
    for (const auto& style : known_styles())
        CHECK(as_template(style.source).conversation(std::span(two_turns).first(2)).answers.empty());
    CHECK(as_template(styles::chatml).conversation({}).text.empty());
}

TEST_CASE("answers may come first and follow one another") {
    const std::vector<chat_message> messages = {
        {"assistant", "a"}, {"user", "u"}, {"assistant", "b"}, {"assistant", "c"}};
    const auto all = as_template(styles::chatml).conversation(messages);
    CHECK(answers_of(all) == std::vector<std::string>{"a<|im_end|>\n", "b<|im_end|>\n", "c<|im_end|>\n"});
    CHECK(all.text.substr(0, all.answers[0].begin) == "<|im_start|>assistant\n");
    CHECK(has(refused(styles::llama2, messages), "line 1: the template refuses: Turns must alternate"));
}

TEST_CASE("an answer begins where a prompt ends, white space aside") {
    const std::vector<chat_message> messages = {{"user", "q"}, {"assistant", "a"}};
    const auto answers = [&](const std::string& source) {
        return answers_of(as_template(source).conversation(messages));
    };
    const std::string turns = "{% for m in messages %}{{ '<' + m.role + '>' }}{{ m.content }}{% endfor %}";
    CHECK(answers(turns + "{{ '<assistant>\n\n ' if add_generation_prompt else '' }}") ==
          std::vector<std::string>{"a"});
    CHECK(answers(turns) == std::vector<std::string>{"<assistant>a"});  // without a prompt of its own
    CHECK(has(refused(turns + "{{ '<assistant>!' if add_generation_prompt else '' }}", messages),
              "the prompt for message 2 is not how the message with its answer begins"));
}

TEST_CASE("templates that rewrite earlier turns are refused by name") {
    for (const auto* source : {styles::qwen3, styles::phi3}) {
        const auto line = refused(source, two_turns);
        CHECK(has(line, "/chat_template.jinja: message 3 is rendered otherwise once others follow"));
    }
    // Thoughts of the last turn are a part of the answer.
    const std::vector<chat_message> thoughtful = {{"user", "q"}, {"assistant", "<think>\nhm\n</think>\n\nYes"}};
    CHECK(answers_of(as_template(styles::qwen3).conversation(thoughtful)) ==
          std::vector<std::string>{"<think>\nhm\n</think>\n\nYes<|im_end|>\n"});
}

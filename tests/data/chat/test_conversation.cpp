#include <fmt/format.h>

#include <initializer_list>
#include <random>
#include <regex>
#include <string>
#include <utility>
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
         5,
         "<|system|>\nBe brief.<|end|>\n<|user|>\n What is DP? <|end|>\n<|assistant|>\nA "
         "promise.\n<|end|>\n<|user|>\nGröße?<|end|>\n<|assistant|>\nε<|end|>\n</s>",
         "<|system|>\nBe brief.<|end|>\n<|user|>\n What is DP? <|end|>\n<|assistant|>\n",
         {"A promise.\n<|end|>\n", "ε<|end|>\n</s>"}},
        {styles::phi3_marked,
         5,
         "<|system|>\nBe brief.<|end|>\n<|user|>\n What is DP? <|end|>\n<|assistant|>\nA "
         "promise.\n<|end|>\n<|user|>\nGröße?<|end|>\n<|assistant|>\nε<|end|>\n</s>",
         "<|system|>\nBe brief.<|end|>\n<|user|>\n What is DP? <|end|>\n<|assistant|>\n",
         {"<|assistant|>\nA promise.\n<|end|>\n", "<|assistant|>\nε<|end|>\n"}},
        {styles::chatml_marked,
         5,
         "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhat is DP?<|im_end|>\n<|im_start|>assistant\nA "
         "promise.<|im_end|>\n<|im_start|>user\nGröße?<|im_end|>\n<|im_start|>assistant\nε<|im_end|>\n",
         "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhat is DP?<|im_end|>\n<|im_start|>assistant\n",
         {"A promise.<|im_end|>\n", "ε<|im_end|>\n"}},
        {styles::qwen3,
         5,
         "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n What is DP? "
         "<|im_end|>\n<|im_start|>assistant\nA promise.\n<|im_end|>\n<|im_start|>user\nGröße?<|im_end|>\n"
         "<|im_start|>assistant\n<think>\n\n</think>\n\nε<|im_end|>\n",
         "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n What is DP? <|im_end|>\n<|im_start|>assistant\n",
         {"A promise.\n<|im_end|>\n", "<think>\n\n</think>\n\nε<|im_end|>\n"}},
        {styles::reasoner,
         5,
         "<s>Be brief.<｜User｜> What is DP? <｜Assistant｜>A "
         "promise.\n<｜end▁of▁sentence｜><｜User｜>Größe?<｜Assistant｜>ε<｜end▁of▁sentence｜>",
         "<s>Be brief.<｜User｜> What is DP? <｜Assistant｜><think>\n",
         {"A promise.\n<｜end▁of▁sentence｜>", "ε<｜end▁of▁sentence｜>"}},
        {styles::harmony,
         5,
         "<|start|>system<|message|>Be brief.<|end|><|start|>user<|message|> What is DP? "
         "<|end|><|start|>assistant<|channel|>final<|message|>A promise.\n<|end|><|start|>user<|message|>Größe?<|end|>"
         "<|start|>assistant<|channel|>final<|message|>ε<|return|>",
         "<|start|>system<|message|>Be brief.<|end|><|start|>user<|message|> What is DP? <|end|><|start|>assistant",
         {"<|channel|>final<|message|>A promise.\n<|end|>", "<|channel|>final<|message|>ε<|return|>"}},
        {styles::deepseek,
         5,
         "<s>Be brief.<｜User｜> What is DP? <｜Assistant｜>A "
         "promise.\n<｜end▁of▁sentence｜><｜User｜>Größe?<｜Assistant｜>ε<｜end▁of▁sentence｜>",
         "<s>Be brief.<｜User｜> What is DP? <｜Assistant｜>",
         {"A promise.\n<｜end▁of▁sentence｜>", "ε<｜end▁of▁sentence｜>"}},
    };
    return all;
}

std::vector<std::string> extract_answers(const chat_text& in) {
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
        CHECK(extract_answers(all) == style.answers);
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
    CHECK(extract_answers(all) == std::vector<std::string>{"a<|im_end|>\n", "b<|im_end|>\n", "c<|im_end|>\n"});
    CHECK(all.text.substr(0, all.answers[0].begin) == "<|im_start|>assistant\n");
    CHECK(extract_answers(as_template(styles::phi3).conversation(messages)) ==
          std::vector<std::string>{"a<|end|>\n", "b<|end|>\n", "c<|end|>\n</s>"});
    CHECK(extract_answers(as_template(styles::qwen3).conversation(std::span(messages).subspan(1))) ==
          std::vector<std::string>{"b<|im_end|>\n", "<think>\n\n</think>\n\nc<|im_end|>\n"});
    CHECK(has(refused(styles::llama2, messages), "line 1: the template refuses: Turns must alternate"));
}

TEST_CASE("an answer begins where a prompt ends, white space aside") {
    const std::vector<chat_message> messages = {{"user", "q"}, {"assistant", "a"}};
    const auto answers = [&](const std::string& source) {
        return extract_answers(as_template(source).conversation(messages));
    };
    const std::string turns = "{% for m in messages %}{{ '<' + m.role + '>' }}{{ m.content }}{% endfor %}";
    CHECK(answers(turns + "{{ '<assistant>\n\n ' if add_generation_prompt else '' }}") ==
          std::vector<std::string>{"a"});
    CHECK(answers(turns) == std::vector<std::string>{"<assistant>a"});  // without a prompt of its own
    // A prompt that the answer does not follow is none of it.
    CHECK(answers(turns + "{{ '<assistant>!' if add_generation_prompt else '' }}") == std::vector<std::string>{"a"});
}

TEST_CASE("what a template leaves out of earlier answers is not learned, all else of them is") {
    const std::vector<chat_message> thoughtful = {{"user", "q"},
                                                  {"assistant", "<think>\nhm\n</think>\n\nYes"},
                                                  {"user", "r"},
                                                  {"assistant", "<think>\nwell\n</think>\n\nNo"}};
    const auto answers = [&](const char* source) {
        return extract_answers(as_template(source).conversation(thoughtful));
    };
    CHECK(answers(styles::qwen3) ==
          std::vector<std::string>{"Yes<|im_end|>\n", "<think>\nwell\n</think>\n\nNo<|im_end|>\n"});
    CHECK(answers(styles::reasoner) == std::vector<std::string>{"Yes<｜end▁of▁sentence｜>", "No<｜end▁of▁sentence｜>"});
    CHECK(answers("{% for m in messages %}{% if loop.last or m.role == 'user' %}<{{ m.role }}>{{ m.content }};"
                  "{% endif %}{% endfor %}") == std::vector<std::string>{"<assistant><think>\nwell\n</think>\n\nNo;"});
    CHECK(
        answers("{% for m in messages %}<{{ m.role }}>{{ m.content if loop.last else m.content[-3:] }}</s>{% endfor %}"
                "{% if add_generation_prompt %}<assistant>{% endif %}") ==
        std::vector<std::string>{"Yes</s>", "<think>\nwell\n</think>\n\nNo</s>"});
}

TEST_CASE("no part of a question is learned, however a template writes it beside the answer") {
    const std::vector<chat_message> messages = {{"user", "q"}, {"assistant", "a"}, {"user", "r"}, {"assistant", "b"}};
    const auto answers = [&](const std::string& source) {
        return extract_answers(as_template(source).conversation(messages));
    };
    const std::vector<std::string> alone = {"a", "b"}, ended = {"a</s>", "b</s>"};
    CHECK(answers("{% for m in messages %}{{ m.content }}{% endfor %}") == alone);
    CHECK(answers("{% for m in messages if m.role == 'assistant' %}({{ messages[2 * loop.index0].content }}) "
                  "{{ m.content }}</s>{% endfor %}") == ended);
    CHECK(answers("{{ messages|length }}{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>{% endfor %}"
                  "{% if add_generation_prompt %}<assistant>{% endif %}") == ended);
    CHECK(answers("{% for m in messages|reverse %}{{ m.content }}</s>{% endfor %}") ==
          std::vector<std::string>{"b", "a"});
    CHECK(has(refused("{{ messages[1].content }}{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>{% endfor %}",
                      messages),
              "chat_template.jinja: the texts of message 2 and of others are written into one another"));
    CHECK(has(refused("{% for m in messages %}<{{ m.role }}>{{ m.content|upper }};{% endfor %}{{ messages|length }}",
                      messages),
              "chat_template.jinja: message 2 is rendered otherwise once others follow"));
}

TEST_CASE("the tag that ends an answer is learned, and nothing of the next turn's head, however alike they begin") {
    const std::vector<chat_message> messages = {{"user", "q"}, {"assistant", "a"}, {"user", "r"}, {"assistant", "b"}};
    const auto first = [&](const std::string& head, const std::string& end) {  // of what ends otherwise at the very end
        return extract_answers(as_template("{% for m in messages %}" + head + "{{ m.content }}" + end +
                                           "{% endfor %}{% if add_generation_prompt %}" + head +
                                           "{% else %}</s>{% endif %}")
                                   .conversation(messages))
            .at(0);
    };
    const std::string role = "{{ m.role if m is defined else 'assistant' }}";
    CHECK(first("<" + role + ">", "<end>") == "a<end>");
    CHECK(first("<" + role + ">", "<end>\n") == "a<end>\n");
    CHECK(first("<start>" + role + ": ", "<end>") == "a<end>");
    CHECK(first("### " + role + ": ", "[end]\n") == "a[end]\n");
    CHECK(first("<" + role + ">", "") == "a");
    CHECK(first("### " + role + ": ", " END ") == "a");  // no tag says that it belongs to the answer
}

TEST_CASE("{% generation %} says where answers stand, whatever prompts and earlier turns look like") {
    const std::vector<chat_message> messages = {{"user", "q"}, {"assistant", "a"}, {"user", "r"}, {"assistant", "b"}};
    const auto answers = [&](const std::string& source) {
        return extract_answers(as_template(source).conversation(messages));
    };
    const std::string answer = "{% generation %}{{ m.content }}{% endgeneration %}";
    const auto turns = [](const std::string& said) {
        return "{{ messages|length }}{% for m in messages %}{% if m.role == 'user' %}<{{ m.content }}>{% else %}" +
               said + "{% endif %}{% endfor %}";
    };
    CHECK(answers(turns("[" + answer + "]")) == std::vector<std::string>{"a", "b"});
    CHECK(answers(turns(answer + "{% generation %};{% endgeneration %}")) == std::vector<std::string>{"a;", "b;"});
    CHECK(answers(turns("{% generation %}" + answer + ";{% endgeneration %}")) == std::vector<std::string>{"a;", "b;"});
    CHECK(answers(turns("{% set said %}" + answer + "!{% endset %}{{ said|replace('!', '?') }}")) ==
          std::vector<std::string>{"a", "b"});
    CHECK(answers(turns("{% if loop.last %}" + answer + "{% endif %}")) == std::vector<std::string>{"b"});
    CHECK(answers(turns("{% if tools %}" + answer + "{% endif %}{{ m.content }}")).empty());
    CHECK(answers(turns("{% generation %}{% endgeneration %}{{ m.content }}")).empty());
    for (const std::string changed : {"said|length", "said[1:]", "said.split('a')[0]", "said.split('a')[-1]"})
        CHECK(
            has(refused(turns(fmt::format("{{% set said %}}{}b{{% endset %}}{{{{ {} }}}}", answer, changed)), messages),
                "chat_template.jinja: the template changes what a {% generation %} block says"));
    CHECK(has(refused("{% for m in messages %}" + answer + "{% endfor %}", messages),
              "chat_template.jinja: a {% generation %} block holds what a user or the system says"));
}

namespace {

/// A conversation, each of whose words says who speaks: S for the system, Q for the user, A for the assistant.
class talker {
  public:
    explicit talker(unsigned seed) : random_(seed) {}

    std::vector<chat_message> talk() {
        std::vector<chat_message> out;
        if (below(3) == 0) out.push_back({"system", said('S')});
        for (auto turns = 1 + below(4); turns > 0; --turns) {
            out.push_back({"user", said('Q')});
            out.push_back({"assistant", (below(3) == 0 ? "<think>\n" + said('A') + "\n</think>\n\n" : "") + said('A')});
        }
        if (below(4) == 0) out.push_back({"user", said('Q')});
        return out;
    }

  private:
    std::size_t below(std::size_t count) { return random_() % count; }

    std::string said(char who) {
        static const std::vector<std::pair<std::string, std::string>> around = {
            {"", ""},   {" ", " "},    {"", "\n"}, {"<", ">"},         {"[", "]"},         {"\"", "\""},
            {"", "."},  {"é", "🙂"}, {"", "<"},  {"[", ""},          {"\n\n", ""},       {"{", "}"},
            {"# ", ""}, {"", "ß"},     {"", "\t"}, {"<|im_end|>", ""}, {"</think>\n", ""}, {"<|user|>", "</s>"}};
        std::string out;
        for (auto words = 1 + below(3); words > 0; --words) {
            const auto& [before, behind] = around[below(around.size())];
            out += fmt::format("{0}{1}{2}{1}{3}", before, who, number_++, behind);
        }
        return out;
    }

    std::mt19937 random_;
    int number_ = 0;
};

/// Words of the assistant, as talker writes them.
std::vector<std::string> answer_words(const std::string& in) {
    static const std::regex word("A[0-9]+A");
    return {std::sregex_token_iterator(in.begin(), in.end(), word), {}};
}

}  // namespace

TEST_CASE("of any conversation all that is left of answers is learned, with what ends their turns, and no question") {
    std::vector<std::pair<chat_template, std::string>> all;
    for (const auto& [source, turn] :
         std::initializer_list<std::pair<const char*, const char*>>{{styles::chatml, "<|im_end|>"},
                                                                    {styles::chatml_marked, "<|im_end|>"},
                                                                    {styles::llama2, "</s>"},
                                                                    {styles::llama3, "<|eot_id|>"},
                                                                    {styles::mistral, "</s>"},
                                                                    {styles::gemma, "<end_of_turn>"},
                                                                    {styles::zephyr, "</s>"},
                                                                    {styles::phi3, "<|end|>"},
                                                                    {styles::phi3_marked, "<|end|>"},
                                                                    {styles::qwen3, "<|im_end|>"},
                                                                    {styles::deepseek, "<｜end▁of▁sentence｜>"},
                                                                    {styles::reasoner, "<｜end▁of▁sentence｜>"},
                                                                    {styles::harmony, "<|"}})
        all.emplace_back(as_template(source), turn);
    talker random(7);
    for (int i = 0; i < 80; ++i) {
        const auto talk = random.talk();
        for (const auto& [style, turn] : all) {
            const auto written = style.conversation(talk);
            INFO(written.text);
            std::string learned;
            std::size_t at = 0;
            for (const auto& [begin, end] : written.answers) {
                REQUIRE((at <= begin && begin < end && end <= written.text.size()));
                at = end;
                const auto answer = written.text.substr(begin, end - begin);
                const auto words = answer_words(answer);
                INFO(answer);
                REQUIRE_FALSE(words.empty());
                CHECK(answer.find_first_of("QS") == std::string::npos);
                const auto behind = answer.substr(answer.rfind(words.back()) + words.back().size());
                const auto ends = behind.rfind(turn);
                REQUIRE(ends != std::string::npos);
                CHECK(behind.find("start") == std::string::npos);
                learned += answer;
            }
            CHECK(answer_words(learned) == answer_words(written.text));
        }
    }
}

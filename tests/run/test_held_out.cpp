#include "run/record_tokens.hpp"

#include <cmath>

#include "models/marked_token.hpp"
#include "run/looks.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using actors::held_out_rule;
using actors::make_held_out;
using data::held_out_record;

namespace {

struct bytewise : models::tokenizer {
    std::vector<std::int32_t> encode(std::string_view text) const override {
        std::vector<std::int32_t> out{256};
        for (const char c : text) out.push_back(static_cast<unsigned char>(c));
        return out;
    }
    std::string decode(const std::vector<std::int32_t>& ids) const override { return {ids.begin() + 1, ids.end()}; }
    std::int64_t size() const override { return 257; }
    std::size_t count_bytes(std::int32_t id) const override { return id < 256 ? 1 : 0; }
    std::string spell(std::int32_t id) const override { return std::string(id < 256 ? 1 : 0, static_cast<char>(id)); }
    models::added_token added(std::int32_t id) const override { return {id == 256 ? "<s>" : ""}; }
};

const bytewise words;

/// "sex is V. end." with the value's place.
held_out_record told(const std::string& value) {
    held_out_record out;
    out.rendered.text = "sex is " + value + ". end.";
    out.rendered.clauses = {{3, {0, 8 + value.size()}, {{7, 7 + value.size()}}}};
    out.tokens = words.encode(out.rendered.text);
    actors::mark_values(out.rendered, words, out.tokens);
    return out;
}

}  // namespace

TEST_CASE("a token is marked if a byte of it carries a value") {
    const auto one = told("male");
    for (std::size_t i = 0; i < one.tokens.size(); ++i) CHECK(models::is_marked(one.tokens[i]) == (i >= 8 && i < 12));
}

namespace {

struct pairs : bytewise {  // two bytes a token, and a space in front
    std::vector<std::int32_t> encode(std::string_view text) const override {
        std::vector<std::int32_t> out;
        for (std::size_t i = 0; i <= text.size(); i += 2) out.push_back(static_cast<std::int32_t>(i));
        return out;
    }
    std::size_t count_bytes(std::int32_t) const override { return 2; }
};

const pairs two;

}  // namespace

TEST_CASE("a value's share of a longer token marks it, and a tokenizer that changes texts marks none") {
    data::record of{"abcdefg", {}, {}, {{0, {1, 5}, {{2, 4}}}}};  // " a" "bc" "de" "fg": c and d
    auto tokens = two.encode(of.text);
    actors::mark_values(of, two, tokens);
    CHECK(tokens == std::vector<std::int32_t>{0, models::marked(2), models::marked(4), 6});
    of.text = "abcdefghi";  // more than the tokens stand for
    tokens = two.encode("abc");
    actors::mark_values(of, two, tokens);
    CHECK(tokens == two.encode("abc"));
}

TEST_CASE("a token that an answer shares with a word beside it is not learned, one shared with a sign is") {
    const auto marks = [](const std::string& text) {  // " a" "bc" "de" "fg": the answer is c and d
        data::record of{text, {}, {}, {}, {{2, 4}}};
        auto tokens = two.encode(of.text);
        actors::mark_values(of, two, tokens);
        return std::pair(models::is_marked(tokens[1]), models::is_marked(tokens[2]));
    };
    CHECK(marks("abcdefg") == std::pair(false, false));
    CHECK(marks("a>cdefg") == std::pair(true, false));
    CHECK(marks("abcd<fg") == std::pair(false, true));
    CHECK(marks("a cd\nfg") == std::pair(true, true));
    CHECK(marks("a cd\xc3\xa9g") == std::pair(true, false));
}

TEST_CASE("a chat template is warned of if its answers end without a token, and if the tokenizer spells it") {
    struct ended : bytewise {  // knows </s>
        std::vector<std::int32_t> encode(std::string_view text) const override {
            const bool whole = text.ends_with("</s>");
            auto out = bytewise::encode(text.substr(0, text.size() - (whole ? 4 : 0)));
            if (whole) out.push_back(257);
            return out;
        }
        models::added_token added(std::int32_t id) const override {
            return id == 257 ? models::added_token{"</s>"} : bytewise::added(id);
        }
    } knows;
    const scratch_directory model;
    model.write("tokenizer_config.json", R"({"eos_token": "</s>"})");
    const auto said_of = [&](const std::string& source, const models::tokenizer& how) {
        model.write("chat_template.jinja", "{% for m in messages %}" + source + "{% endfor %}");
        return actors::endless_answers(model.path(), *data::chat_template::read(model.path()), how).value_or("");
    };
    CHECK(said_of("{{ m.content + eos_token }}\n\n", knows).empty());
    CHECK(has(said_of("{{ m.content + eos_token }}", words), "ends answers with \"</s>\", which is no token"));
    CHECK(has(said_of("{{ m.content }}\n", knows), "ends without an end-of-turn token"));
    CHECK(has(said_of("{% generation %}{{ m.content if m.role == 'assistant' }}{% endgeneration %}</s>", knows),
              "ends without an end-of-turn token"));
    struct : bytewise {  // ends every text with a token of its own
        std::vector<std::int32_t> encode(std::string_view text) const override {
            auto out = bytewise::encode(text);
            out.push_back(256);
            return out;
        }
    } closes;
    CHECK(has(said_of("{{ m.content }}", closes), "ends without an end-of-turn token"));
    CHECK(said_of("{{ raise_exception('no') }}", knows).empty());
    model.write("generation_config.json", R"({"eos_token_id": [46, 9]})");
    CHECK(said_of("{{ m.content }}", words).empty());  // the model stops at a full stop
}

namespace {

/// Of these records, which are all that there are on the side but for `others`.
data::held_out_side side_of(std::vector<held_out_record> records, const std::vector<held_out_record>& others = {}) {
    data::held_out_side out{std::move(records), 0, {"a", "b", "c", "sex"}, {}};
    out.values.resize(4);
    for (const auto* all : std::initializer_list<const std::vector<held_out_record>*>{&out.records, &others})
        for (const auto& one : *all)
            for (const auto& part : one.rendered.clauses)
                ++out.values[part.column]
                            [one.rendered.text.substr(part.whole.begin, part.whole.end - part.whole.begin)];
    return out;
}

}  // namespace

TEST_CASE("the marginal is what the other held-out records tell, those not evaluated too") {
    const std::vector<held_out_record> records{told("m"), told("f"), told("f"), told("f")};
    // Of the others, m has 0, 2 and f 3, 2: half a record more of each of the two values.
    const auto found = make_held_out(side_of(records), {words, 100, {}});
    REQUIRE(found.marginal_nats);
    CHECK(*found.marginal_nats == Approx((-std::log(0.5 / 4) - 3 * std::log(2.5 / 4)) / 4));
    const auto more = make_held_out(side_of(records, {told("m"), told("m")}), {words, 100, {}});
    CHECK(*more.marginal_nats == Approx((-std::log(2.5 / 6) - 3 * std::log(2.5 / 6)) / 4));
    // A thousand values, each of one record: no model of marginals knows any of them.
    std::vector<held_out_record> unique;
    for (int i = 1000; i < 2000; ++i) unique.push_back(told(std::to_string(i)));
    const std::vector<held_out_record> some(unique.begin(), unique.begin() + 10),
        rest(unique.begin() + 10, unique.end());
    CHECK(*make_held_out(side_of(some, rest), {words, 100, {}}).marginal_nats == Approx(std::log(2998.0)));
}

TEST_CASE("a target's alternatives stand in its place") {
    const std::vector<held_out_record> records{told("m"), told("f"), told("f"), told("f")};
    const auto found = make_held_out(side_of(records), {words, 100, "sex"});
    REQUIRE(found.target);
    CHECK(found.target->clauses == std::vector<std::string>{"sex is f.", "sex is m."});
    CHECK(found.target->truth == std::vector<std::size_t>{1, 0, 0, 0});
    CHECK(found.target->alternatives[0][0] == words.encode("sex is f. end."));
    CHECK(found.target->alternatives[0][1] == words.encode("sex is m. end."));
    // What fits as it is, but not with the other value, is not asked for.
    const auto close = make_held_out(side_of({told("m"), told("ff"), told("m")}), {words, 15, "sex"});
    CHECK(close.target->truth.empty());
    CHECK(make_held_out(side_of({told("m"), told("ff"), told("m")}), {words, 16, "sex"}).target->truth.size() == 3);
}

TEST_CASE("declared classes stand in the value's place, and what can't be asked follows from each record alone") {
    auto cut = told("m");
    cut.cut = true;
    const std::vector<held_out_record> records{told("m"), cut, told("q"), told("f")};
    const held_out_rule how{words, 100, "sex", std::vector<std::string>{"m", "f"}, false, false};
    const auto found = make_held_out(side_of(records), how);
    REQUIRE(found.target);
    CHECK(found.target->declared);
    CHECK(found.target->clauses == std::vector<std::string>{"m", "f"});
    CHECK(found.target->records == std::vector<std::size_t>{0, 3});
    CHECK(found.target->truth == std::vector<std::size_t>{0, 1});
    CHECK(found.target->alternatives[0][1] == words.encode("sex is f. end."));
    // A run that must not tell of its records refuses nothing for them, and has nothing to ask.
    auto collected = how;
    collected.classes.reset();
    CHECK_FALSE(make_held_out(side_of(records), collected).target);
    CHECK(make_held_out(side_of({}), how).first == std::vector<std::size_t>{0});
}

TEST_CASE("units are told apart, whose records lie one behind the other") {
    auto records = std::vector<held_out_record>{told("m"), told("f"), told("f"), told("f")};
    records[1].unit = records[2].unit = 7;
    records[3].unit = 9;
    CHECK(make_held_out(side_of(records), {words, 100, {}}).first == std::vector<std::size_t>{0, 1, 3, 4});
}

TEST_CASE("bytes are those of predicted tokens, of cut records too") {
    const std::vector<held_out_record> records{told("m"), told("f"), told("f"), told("f")};
    CHECK(make_held_out(side_of(records), {words, 100, {}}).bytes == 56);  // the first token stands for no byte
    auto cut = records;
    cut[1].tokens.resize(6);
    cut[1].cut = true;
    auto shorter = make_held_out(side_of(cut), {words, 6, {}});
    CHECK(shorter.bytes == 3 * 14 + 5);
    CHECK_FALSE(shorter.marginal_nats);
    cut[1].tokens.erase(cut[1].tokens.begin());  // as of a tail, or a tokenizer that begins with no such token
    CHECK(make_held_out(side_of(cut), {words, 6, {}}).bytes == 3 * 14 + 4);
    auto unmarked = records;
    for (auto& token : unmarked[2].tokens) token = models::unmarked(token);
    CHECK_FALSE(make_held_out(side_of(unmarked), {words, 100, {}}).marginal_nats);
}

TEST_CASE("a target that can't be one is refused by name") {
    const auto said = [](const std::vector<held_out_record>& records, const std::string& target, bool text = false) {
        auto side = side_of(records);
        if (text) side.columns.clear();
        return refusal([&] { make_held_out(side, {words, 100, target}); });
    };
    CHECK(has(said({told("m")}, "age"), "eval.target: \"age\" is no column of the table"));
    CHECK(has(said({told("m")}, "a"), "left out by data.template"));
    CHECK(has(said({told("m")}, "sex", true), "the data are text"));
    auto cut = told("m");
    cut.cut = true;
    CHECK(has(said({told("m"), cut}, "sex"), "can't be asked for where records are cut"));
    std::vector<held_out_record> many;
    many.reserve(65);
    for (int i = 0; i < 65; ++i) many.push_back(told(std::to_string(i)));
    CHECK(has(said(many, "sex"), "has 65 values"));
}

TEST_CASE("noise moves no figure of a look beyond what it can be") {
    const auto found = actors::to_scores({.nats = {-0.02, 0.05},
                                          .value_token_nats = privacy::noised_figure{0.1, 0.3},
                                          .hits = privacy::noised_figure{0.97, 0.05}});
    CHECK(found.perplexity == 1);
    CHECK(found.perplexity_in->low == 1);
    CHECK(found.perplexity_in->high == Approx(std::exp(0.03)));
    CHECK(found.value_token_nats == 0.1);
    CHECK(found.value_token_nats_in->low == 0);
    CHECK(found.accuracy_in->low == Approx(0.92));
    CHECK(found.accuracy_in->high == 1);
}

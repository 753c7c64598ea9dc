// Every bad file is refused in one line that names file and key.
#include <functional>
#include <random>

#include "base/error.hpp"
#include "tests/models/tokenizer/fixtures.hpp"

//
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp;
using namespace rldp::test;
using models::tokenizer;

namespace {

json good() {
    return {{"added_tokens", json::array({{{"id", 3}, {"content", "<s>"}, {"special", true}}})},
            {"normalizer", {{"type", "Prepend"}, {"prepend", "_"}}},
            {"pre_tokenizer", {{"type", "Split"}, {"pattern", {{"Regex", "\\w+"}}}, {"behavior", "Isolated"}}},
            {"post_processor",
             {{"type", "TemplateProcessing"},
              {"single", json::array({{{"SpecialToken", {{"id", "<s>"}}}}, {{"Sequence", {{"id", "A"}}}}})},
              {"special_tokens", {{"<s>", {{"ids", {3}}}}}}}},
            {"model", bpe_model({"a", "b", "ab"}, {{"a", "b"}})}};
}

}  // namespace

TEST_CASE("the unharmed file is accepted") {
    CHECK(load(good())->encode("ab") == ids{3, 2});
}

TEST_CASE("a damaged tokenizer.json is refused by file and key") {
    const std::vector<std::pair<std::function<void(json&)>, std::string>> damages = {
        {[](json& j) { j.erase("model"); }, "model: is missing"},
        {[](json& j) { j["model"].erase("vocab"); }, "model.vocab: is missing"},
        {[](json& j) { j["model"].erase("merges"); }, "model.merges: is missing"},
        {[](json& j) { j["model"]["type"] = "Unigram"; }, "model.type: Unigram is not supported"},
        {[](json& j) { j["model"]["dropout"] = 0.1; }, "model.dropout"},
        {[](json& j) { j["model"]["unk_token"] = "<unk>"; }, "model.unk_token: \"<unk>\" is not in the vocabulary"},
        {[](json& j) { j["model"]["end_of_word_suffix"] = "</w>"; }, "model.end_of_word_suffix"},
        {[](json& j) { j["model"]["byte_fallback"] = 1; }, "model.byte_fallback: must be true or false"},
        {[](json& j) {
             j["model"]["merges"] = json::array({{"a", "c"}});
         },
         "model.merges[0]: \"c\" is not in the vocabulary"},
        {[](json& j) {
             j["model"]["merges"] = json::array({{"b", "a"}});
         },
         "model.merges[0]: \"ba\" is not in the vocabulary"},
        {[](json& j) { j["model"]["merges"] = json::array({"ab"}); }, "model.merges[0]: must be two tokens"},
        {[](json& j) {
             j["model"]["merges"] = json::array({{"a", "b", "c"}});
         },
         "model.merges[0]: must be two tokens"},
        {[](json& j) { j["model"]["merges"] = 7; }, "model.merges: must be a list"},
        {[](json& j) { j["model"]["vocab"] = json::array(); }, "model.vocab: must be an object"},
        {[](json& j) { j["model"]["vocab"]["a"] = -1; }, "model.vocab: token \"a\": must be an id"},
        {[](json& j) { j["model"]["vocab"]["a"] = "x"; }, "model.vocab: token \"a\": must be a whole number"},
        {[](json& j) { j["model"]["vocab"]["a"] = 1 << 30; }, "model.vocab: token \"a\": id 1073741824 is far beyond"},
        {[](json& j) { j["model"]["vocab"]["a"] = 1; }, "model.vocab: token \"b\": id 1 is taken"},
        {[](json& j) { j["added_tokens"][0].erase("content"); }, "added_tokens[0].content: is missing"},
        {[](json& j) { j["added_tokens"][0]["id"] = 1 << 30; }, "added_tokens[0]: id 1073741824 is far beyond"},
        {[](json& j) { j["added_tokens"][0]["single_word"] = true; }, "added_tokens[0].single_word: is not supported"},
        {[](json& j) { j["normalizer"]["type"] = "Precompiled"; }, "normalizer.type: Precompiled is not supported"},
        {[](json& j) {
             j["normalizer"] = {{"type", "Replace"}, {"pattern", {{"Regex", "x*"}}}, {"content", "y"}};
         },
         "normalizer.pattern: matches an empty text"},
        {[](json& j) { j["pre_tokenizer"]["type"] = "Sudachi"; }, "pre_tokenizer.type: Sudachi is not supported"},
        {[](json& j) { j["pre_tokenizer"]["behavior"] = "Sideways"; }, "pre_tokenizer.behavior: Sideways is"},
        {[](json& j) { j["pre_tokenizer"]["pattern"]["Regex"] = "(a"; },
         "pre_tokenizer.pattern.Regex is not a regular expression"},
        {[](json& j) { j["post_processor"]["type"] = "BertProcessing"; }, "post_processor.type: BertProcessing"},
        {[](json& j) { j["post_processor"]["special_tokens"].erase("<s>"); },
         "post_processor.special_tokens.<s>: is missing"},
        {[](json& j) { j["post_processor"]["special_tokens"]["<s>"]["ids"] = {9}; }, "is not an id of the vocabulary"},
        {[](json& j) { j["post_processor"]["single"] = json::array(); }, "post_processor.single: has no Sequence"},
        {[](json& j) {
             j["decoder"] = {{"type", "WordPiece"}};
         },
         "decoder.type: WordPiece is not supported"},
        {[](json& j) {
             j["post_processor"]["single"] = json::array({{{"Sequence", json::object()}}});
             for (int i = 0; i < 65; ++i) j["post_processor"]["single"].push_back({{"SpecialToken", {{"id", "<s>"}}}});
         },
         "post_processor.single: adds more than 64 tokens"},
        {[](json& j) { j["normalizer"]["prepend"] = std::string(64, 'a'); },
         "normalizer: could make a text more than 64 times as long"},
        {[](json& j) {
             const json twice = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}};
             j["normalizer"] = {{"type", "Sequence"}, {"normalizers", json(7, twice)}};
         },
         "normalizer.normalizers[6]: could make a text more than 64 times as long"},
        {[](json& j) {
             j["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", json(17, j["pre_tokenizer"])}};
         },
         "pre_tokenizer.pretokenizers[16]: is a step too many"},
        {[](json& j) { j["pre_tokenizer"]["pattern"]["Regex"] = "a\\C"; },  // half a character
         "pre_tokenizer.pattern.Regex is not a regular expression"},
        {[](json& j) { j = json::array(); }, "must be an object"},
    };
    for (const auto& [damage, expected] : damages) {
        auto description = good();
        damage(description);
        const auto line = refusal([&] { load(description); });
        INFO(line);
        CHECK(has(line, expected));
        CHECK(has(line, "tokenizer.json"));
    }
}

TEST_CASE("missing, empty, broken and deeply nested files are refused") {
    const scratch_directory scratch;
    CHECK(has(refusal([&] { tokenizer::load(scratch.path()); }), "no tokenizer there"));
    CHECK(has(refusal([&] { tokenizer::load_json(scratch.path() / "none.json"); }), "none.json: no such file"));
    scratch.write("tokenizer.model", "no protobuf");
    CHECK(has(refusal([&] { tokenizer::load(scratch.path()); }), "tokenizer.model"));
    scratch.write("tokenizer.model", "");
    CHECK(has(refusal([&] { tokenizer::load(scratch.path()); }), "tokenizer.model"));
    for (const std::string& text : std::vector<std::string>{"", "{", "{\"model\": \xFF}", "nul", "{\"model\": 1e999}",
                                                            std::string("{}\0", 3), "{} x"})
        CHECK(has(refusal([&] { tokenizer::load_json(scratch.write("t.json", text)); }), "t.json: not JSON"));
    std::string nested = "null";
    for (int i = 0; i < 3000; ++i) nested = R"({"type":"Sequence","normalizers":[)" + nested + "]}";
    CHECK(has(refusal([&] { tokenizer::load_json(scratch.write("t.json", R"({"normalizer":)" + nested + "}")); }),
              "nested too deeply"));
}

TEST_CASE("a pattern that would try for ever leaves the text whole, and fails for no record") {
    auto description = good();
    description["pre_tokenizer"]["pattern"]["Regex"] = "(?:a|a?a)+(?=b|c)";
    const auto patient = load(description);
    CHECK_FALSE(patient->encode(std::string(60, 'a')).empty());
}

TEST_CASE("vocab.json and merges.txt: a bad line is named") {
    const scratch_directory scratch;
    scratch.write("vocab.json", R"({"a": 0, "b": 1, "ab": 2})");
    scratch.write("merges.txt", "#version: 0.2\na b\r\n");
    CHECK(tokenizer::load(scratch.path())->encode("abb") == ids{2, 1});
    scratch.write("merges.txt", "#version: 0.2\na b\nb c\n");
    CHECK(has(refusal([&] { tokenizer::load(scratch.path()); }), "merges.txt:3: \"c\" is not in the vocabulary"));
    scratch.write("merges.txt", "ab\n");
    CHECK(has(refusal([&] { tokenizer::load(scratch.path()); }), "merges.txt:1: must be two tokens"));
    scratch.write("vocab.json", "[]");
    CHECK(has(refusal([&] { tokenizer::load(scratch.path()); }), "vocab.json: must be an object"));
}

TEST_CASE("a tokenizer.model that has a piece twice is refused") {
    // A field of a protocol buffer that holds fewer than 128 bytes.
    const auto field = [](char number, const std::string& bytes) {
        return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
    };
    const auto piece = [&](const std::string& text) { return field(1, field(1, text)); };
    const auto bpe = field(2, "\x18\x02");  // trainer_spec.model_type
    const scratch_directory scratch;
    scratch.write("tokenizer.model", piece("a") + piece("b") + piece("ab") + bpe);
    CHECK_NOTHROW(tokenizer::load(scratch.path()));
    scratch.write("tokenizer.model", piece("a") + piece("b") + piece("ab") + piece("ab") + bpe);
    CHECK(has(refusal([&] { tokenizer::load(scratch.path()); }), "pieces[3] has the text of pieces[2]"));
}

TEST_CASE("random damage never does worse than a refusal") {
    const auto whole = good().dump();
    const scratch_directory scratch;
    std::mt19937 random(5);
    for (int i = 0; i < 1500; ++i) {
        auto text = whole;
        for (auto n = 1 + random() % 3; n > 0; --n) {
            const auto at = random() % text.size();
            if (random() % 2 == 0)
                text[at] = static_cast<char>(random() % 128);
            else
                text.erase(at, 1 + random() % 4);
            if (text.empty()) break;
        }
        try {
            tokenizer::load_json(scratch.write("t.json", text))->encode("ab <s> é");
        } catch (const error& problem) {
            CHECK(problem.code() == errc::bad_input);
        }
    }
}

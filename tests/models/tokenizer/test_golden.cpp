// Ids of Hugging Face's tokenizers and of sentencepiece, where the shared data lies beside the project.
#include <cstdlib>

#include "tests/models/tokenizer/fixtures.hpp"

//
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::test;
using models::tokenizer;

namespace {

std::filesystem::path golden_models() {
    const char* root = std::getenv("RLDP_GOLDEN");
    return root == nullptr ? "../shared/golden/models" : root;
}

bool missing(const std::filesystem::path& path) {
    if (std::filesystem::exists(path)) return false;
    WARN("skipped: no shared data (" << path << ")");
    return true;
}

const std::filesystem::path stories = "../shared/data/stories260K";

json stories_cases() {
    return json::parse(read_file(stories / "tokenizer_cases.json"))["cases"];
}

}  // namespace

TEST_CASE("golden: GPT-2 vocabulary and merges give transformers' ids") {
    const std::filesystem::path vocabulary = "../shared/data/tokenizers/gpt2";
    const auto file = golden_models() / "gpt2_tokenizer_cases.json";
    if (missing(vocabulary) || missing(file)) return;
    const auto golden = json::parse(read_file(file));
    const auto gpt2 = tokenizer::load(vocabulary);
    CHECK(gpt2->size() == 50257);
    for (const auto& one : golden["cases"]) {
        INFO(one["text"]);
        CHECK(gpt2->encode(one["text"].get<std::string>()) == one["ids"].get<ids>());
        CHECK(gpt2->decode(one["ids"].get<ids>()) == one["decoded"].get<std::string>());
    }
    const auto& special = golden["special"];
    CHECK(gpt2->encode(special["text"].get<std::string>()) == special["ids_hf"].get<ids>());
    CHECK(gpt2->decode(special["ids_plain_text"].get<ids>()) == special["text"].get<std::string>());
    CHECK(gpt2->decode(special["ids_hf"].get<ids>()) == "beforeafter ");
}

TEST_CASE("golden: stories260K's tokenizer.json gives the ids of Hugging Face's tokenizers") {
    if (missing(stories)) return;
    auto description = json::parse(read_file(stories / "tokenizer.json"));
    for (auto& merge : description["model"]["merges"])  // as older files have them
        merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
    const auto with_pairs = tokenizer::load(stories);
    const auto with_strings = load(description);
    for (const auto& one : stories_cases()) {
        INFO(one["text"]);
        const auto text = one["text"].get<std::string>();
        CHECK(with_pairs->encode(text) == one["ids"].get<ids>());
        CHECK(with_strings->encode(text) == one["ids"].get<ids>());
        CHECK(with_pairs->decode(one["ids"].get<ids>()) == one["decoded"].get<std::string>());
    }
}

TEST_CASE("golden: the transformers 5 form adds no BOS and no second mark before a leading space") {
    if (missing(stories)) return;
    const auto metaspace = tokenizer::load_json(stories / "tokenizer_transformers5.json");
    int different = 0;
    for (const auto& one : stories_cases()) {
        auto found = metaspace->encode(one["text"].get<std::string>());
        CHECK(metaspace->decode(found) == (one["text"].get<std::string>().starts_with(' ')
                                               ? one["decoded"].get<std::string>().substr(1)
                                               : one["decoded"].get<std::string>()));
        found.insert(found.begin(), 1);
        if (found != one["ids"].get<ids>()) {
            ++different;
            CHECK(one["text"].get<std::string>().starts_with(' '));
        }
    }
    CHECK(different == 2);
}

TEST_CASE("golden: sentencepiece's ids from tokenizer.model and from the whitespace-collapsing tokenizer.json") {
    if (missing(stories)) return;
    const scratch_directory scratch;
    scratch.write("tokenizer.model", read_file(stories / "tokenizer.model"));
    const auto model = tokenizer::load(scratch.path());
    const auto collapsing = tokenizer::load_json(stories / "tokenizer_spm_whitespace.json");
    for (const auto& one : stories_cases()) {
        INFO(one["text"]);
        const auto text = one["text"].get<std::string>();
        const auto expected = one["sentencepiece_ids"].get<ids>();
        CHECK(model->encode(text) == expected);
        CHECK(collapsing->encode(text) == expected);
    }
}

TEST_CASE("golden: where tokens end is known behind special tokens too, and a text begins once") {
    if (missing(stories)) return;
    const auto words = tokenizer::load(stories);
    const std::string text = "<s>Once upon</s><s>a time</s>";
    const auto ids = words->encode(text), alone = words->encode("Once upon");
    REQUIRE(ids[0] == ids[1]);  // its own, and the text's
    const auto ends = models::token_ends(*words, text, ids);
    REQUIRE(ends);
    CHECK(ends->back() == text.size());
    CHECK((*ends)[alone.size()] == std::string("<s>Once upon").size());
    const auto once = models::once_begun(tokenizer::load(stories));
    CHECK(once->encode(text) == std::vector<std::int32_t>(ids.begin() + 1, ids.end()));
    CHECK(once->encode("Once upon") == alone);
    CHECK(once->encode("") == words->encode(""));
    CHECK(models::token_ends(*once, text, once->encode(text))->back() == text.size());
}

TEST_CASE("golden: where tokens end is where their text ends") {
    const std::filesystem::path vocabulary = "../shared/data/tokenizers/gpt2";
    if (missing(vocabulary) || missing(stories)) return;
    const std::vector<std::string> texts{"The patient's age is 67.", "  two  spaces ",
                                         "na\xC3\xAFve \xF0\x9F\x98\x80 x", ""};
    for (const auto& directory : {vocabulary, stories}) {
        const auto words = tokenizer::load(directory);
        for (const auto& text : texts) {
            INFO(directory << ": " << text);
            const auto ids = words->encode(text);
            const auto ends = models::token_ends(*words, text, ids);
            REQUIRE(ends);
            REQUIRE(ends->size() == ids.size());
            if (!text.empty()) CHECK(ends->back() == text.size());
            for (std::size_t i = 0; i < ids.size(); ++i) {
                const auto begin = i == 0 ? 0 : (*ends)[i - 1];
                const auto own = text.substr(begin, (*ends)[i] - begin);
                const auto shown = words->decode({ids[i]});
                if (shown.find("\xEF\xBF\xBD") == std::string::npos) CHECK((own == shown || own == " " + shown));
            }
        }
    }
}

// Attacks on a model: likelihoods, extraction, gradient canaries.
#include <ATen/ATen.h>

#include <cmath>
#include <set>

#include "eval/audit/attacks.hpp"
#include "models/generate.hpp"
#include "tests/models/random_models.hpp"

#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::eval;

namespace {

/// A token per character, but "=Z" is one.
token_ids encode(const std::string& text) {
    token_ids out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text.compare(i, 2, "=Z") == 0)
            out.push_back(1), ++i;
        else
            out.push_back(static_cast<std::int32_t>(text[i]));
    }
    return out;
}

token_ids random_tokens(std::int64_t count, std::int64_t seed) {
    at::manual_seed(seed);
    const auto drawn = at::randint(17, {count}, at::kLong);
    const auto at = drawn.accessor<std::int64_t, 1>();
    token_ids out;
    for (std::int64_t i = 0; i < count; ++i) out.push_back(static_cast<std::int32_t>(at[i]));
    return out;
}

/// Σ log p from the logits of one text at a time.
double direct(const attacked_model& model, const split_text& text) {
    const auto ids = models::make_batch({text.tokens}).ids;
    const auto log_p = at::log_softmax(model.base.logits(ids, model.layout, model.adapter)[0].to(at::kDouble), 1);
    double sum = 0;
    for (std::size_t t = text.end; t < text.tokens.size(); ++t)
        sum += log_p[static_cast<std::int64_t>(t) - 1][text.tokens[t]].item<double>();
    return sum;
}

struct tiny {
    std::shared_ptr<const models::causal_lm> base = models::test::tiny_gpt2(3);
    models::lora_layout layout = models::make_layout(base->config(), {2, 16, 0.05, {"q", "v"}});
    at::Tensor adapter = at::randn({layout.dimension}) * 0.5;
    attacked_model tuned() const { return {*base, &layout, &adapter, 3}; }
};

}  // namespace

TEST_CASE("a text is cut where its beginning ends, and a token across the cut belongs to the end") {
    auto cut = split_at(encode, "id=ABC", 3, 100, true);
    REQUIRE(cut);
    CHECK(cut->end == 3);
    CHECK(cut->tokens == encode("id=ABC"));
    cut = split_at(encode, "id=ZBC", 3, 100, true);
    REQUIRE(cut);
    CHECK(cut->end == 2);  // "=Z" is one token
}

TEST_CASE("texts are drawn as published") {
    const extraction_config how;
    CHECK(how.max_new_tokens == 10);
    CHECK(how.temperature == 0.7);
    CHECK(how.top_k == 50);
    CHECK(how.top_p == 0.95);
}

TEST_CASE("a text is cut as training cuts it") {
    auto tail = split_at(encode, "abcdefgh", 5, 4, true);
    REQUIRE(tail);
    CHECK(tail->tokens == encode("efgh"));
    CHECK(tail->end == 1);
    CHECK(!split_at(encode, "abcdefgh", 4, 4, true));  // nothing of the beginning is left
    auto head = split_at(encode, "abcdefgh", 3, 4, false);
    REQUIRE(head);
    CHECK(head->tokens == encode("abcd"));
    CHECK(head->end == 3);
    CHECK(!split_at(encode, "abcdefgh", 5, 4, false));  // nothing of the end is
    CHECK(!split_at(encode, "abc", 3, 10, true));
}

TEST_CASE("a text that is all end has all tokens but its first, also where it is cut") {
    for (const auto& [text, most] : {std::pair("abc", 10), std::pair("abcdefgh", 4)}) {
        const auto cut = split_at(encode, text, 0, static_cast<std::size_t>(most), true);
        REQUIRE(cut);
        CHECK(cut->end == 1);
        const auto with_start = split_at([](const std::string& s) { return encode("^" + s); }, text, 0,
                                         static_cast<std::size_t>(most), true);
        REQUIRE(with_start);
        CHECK(with_start->end == 1);
    }
    CHECK(!split_at(encode, "a", 0, 10, true));
}

TEST_CASE("the likelihood of an end is what the logits say, in batches of any lengths") {
    const tiny at;
    std::vector<split_text> texts;
    for (std::int64_t i = 0; i < 7; ++i)
        texts.push_back({random_tokens(4 + i % 5, i), static_cast<std::size_t>(1 + i % 3)});
    const auto found = end_log_likelihoods(at.tuned(), texts);
    for (std::size_t i = 0; i < texts.size(); ++i) CHECK(found[i] == Approx(direct(at.tuned(), texts[i])).margin(1e-4));
    const auto base = end_log_likelihoods({*at.base, nullptr, nullptr, 3}, texts);
    CHECK(std::abs(base[0] - found[0]) > 1e-3);
}

TEST_CASE("continuations of one prompt are as likely as the whole texts say, whatever their lengths") {
    const tiny at;
    const auto prompt = random_tokens(5, 1);
    std::vector<token_ids> continuations;
    std::vector<split_text> whole;
    for (std::int64_t i = 0; i < 600; ++i) {  // more than are read at once
        continuations.push_back(random_tokens(1 + i % 4, 100 + i));
        auto text = prompt;
        text.insert(text.end(), continuations.back().begin(), continuations.back().end());
        whole.push_back({text, prompt.size()});
    }
    const auto found = continuation_log_likelihoods(at.tuned(), prompt, continuations);
    const auto expected = end_log_likelihoods(at.tuned(), whole);
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == Approx(expected[i]).margin(1e-4));
}

TEST_CASE("what begins an output counts as a secret where it is one to ten letters and digits") {
    CHECK(leading_secret("A1B2C3D4E5. more") == "A1B2C3D4E5");
    CHECK(leading_secret("  \nX") == "X");
    CHECK(leading_secret("AB cd") == "AB");
    CHECK(leading_secret("A1B2C3D4E5F").empty());
    CHECK(leading_secret("the patient").empty());
    CHECK(leading_secret("").empty());
    CHECK(leading_secret("   ").empty());
    CHECK(leading_secret("É").empty());
}

TEST_CASE("a prompt that is too long loses its beginning") {
    const tiny at;
    const auto prompt = random_tokens(30, 2);
    const auto& model = at.base->config();
    CHECK(fit_prompt(prompt, model, 4) == token_ids(prompt.end() - (model.window - 4), prompt.end()));
    CHECK(fit_prompt(random_tokens(3, 2), model, 4) == random_tokens(3, 2));
}

TEST_CASE("a gradient canary has the same norm on every group, and two are almost orthogonal") {
    const gradient_canaries how{.seed = 5, .segments = {{300, 0}, {500, 1}, {100, 0}}, .norm = 7};
    const auto one = canary_gradient(how, 0), other = canary_gradient(how, 1);
    const auto group = at::cat({one.slice(0, 0, 300), one.slice(0, 800)});
    CHECK(group.norm().item<double>() == Approx(7).epsilon(1e-4));
    CHECK(one.slice(0, 300, 800).norm().item<double>() == Approx(7).epsilon(1e-4));
    // ⟨·,·⟩ has deviation 49·√(1/400 + 1/500).
    CHECK(std::abs(one.dot(other).item<double>()) < 5 * 49 * std::sqrt(1 / 400. + 1 / 500.));
    CHECK(at::equal(canary_gradient(how, 1), other));
    auto elsewhere = how;
    elsewhere.seed = 6;
    CHECK(!at::equal(canary_gradient(elsewhere, 1), other));
}

TEST_CASE("a canary that is in a trace scores above those that are not") {
    const gradient_canaries how{.seed = 5, .segments = {{3000, 0}}, .norm = 1};
    at::manual_seed(1);
    auto trace = at::randn({3000}, at::kDouble);
    for (std::int64_t i = 0; i < 10; ++i) trace += 8 * canary_gradient(how, i).to(at::kDouble);
    const auto scores = trace_scores(how, trace, 40);
    for (std::size_t i = 0; i < 40; ++i) CHECK((scores[i] > 4) == (i < 10));
}

// Texts that grow token by token: the logits of full forward passes, and of each text the same bits in any company.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <cstring>

#include "models/decoding/growing_texts.hpp"
#include "models/lora/layout.hpp"
#include "models/quantized/quantize.hpp"
#include "tests/catch.hpp"
#include "tests/models/random_models.hpp"

namespace rldp::models::test {

namespace {

using token_list = std::vector<std::int32_t>;

/// A model that both ways compute.
struct decoded_subject {
    std::shared_ptr<const causal_lm> model;
    std::optional<lora_layout> layout = {};
    at::Tensor flat = {};

    std::shared_ptr<const decoding_model> decoded(std::int64_t held = decoding_model::most_held) const {
        return std::make_shared<const decoding_model>(model, layout ? &*layout : nullptr, layout ? &flat : nullptr,
                                                      held);
    }
    /// Logits behind each token, of full forward passes.
    at::Tensor whole(const token_list& ids) const {
        const at::NoGradGuard no_grad;
        return model->logits(make_batch({ids}).ids, layout ? &*layout : nullptr, layout ? &flat : nullptr)[0];
    }
};

decoded_subject random_subject(const std::string& type, unsigned seed, bool adapted) {
    random_source random(seed);
    decoded_subject out;
    const auto config = random_config(random, type);
    out.model = causal_lm::from_weights(config, random_weights(config));
    if (!adapted) return out;
    out.layout = make_layout(config, random_lora(random, config));
    out.flat = 0.3 * at::randn({out.layout->dimension});
    return out;
}

std::vector<token_list> random_texts(random_source& random, std::int64_t vocab, std::int64_t count,
                                     std::int64_t longest, const token_list& beginning) {
    std::vector<token_list> texts(static_cast<std::size_t>(count), beginning);
    for (auto& text : texts)
        for (auto left = random.between(1, longest); left > 0; --left)
            text.push_back(static_cast<std::int32_t>(random.between(0, vocab - 1)));
    return texts;
}

/// Reads the texts behind their beginning, each in pieces of random sizes in a place that another text had before;
/// logits where the pieces end, by text and token.
std::map<std::pair<std::size_t, std::size_t>, std::vector<float>> read_in_pieces(
    const std::shared_ptr<const decoding_model>& model, const std::vector<token_list>& texts,
    const token_list& beginning, std::int64_t places, unsigned seed) {
    random_source random(seed);
    std::map<std::pair<std::size_t, std::size_t>, std::vector<float>> out;
    const auto begun = beginning.empty() ? nullptr : read_beginning(model, beginning);
    growing_texts growing(model, places, model->config.window, begun);
    struct at_work {
        std::size_t text, read;
    };
    std::vector<std::optional<at_work>> at(static_cast<std::size_t>(places));
    for (std::size_t next = 0;;) {
        std::vector<growing_texts::piece> pieces;
        std::vector<std::size_t> ends;
        for (std::size_t place = 0; place < at.size(); ++place) {
            if (!at[place] && next < texts.size()) {
                at[place] = {next++, beginning.size()};
                growing.restart(static_cast<std::int64_t>(place));
            }
            if (!at[place]) continue;
            const auto& text = texts[at[place]->text];
            const auto left = static_cast<std::int64_t>(text.size() - at[place]->read);
            const auto count = random.between(1, std::min<std::int64_t>(left, random.between(1, 40)));
            pieces.push_back({static_cast<std::int64_t>(place),
                              std::span(text).subspan(at[place]->read, static_cast<std::size_t>(count)), true});
            at[place]->read += static_cast<std::size_t>(count);
        }
        if (pieces.empty()) return out;
        growing.read(pieces);
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            auto& one = at[static_cast<std::size_t>(pieces[i].place)];
            CHECK(growing.length(pieces[i].place) == static_cast<std::int64_t>(one->read));
            const auto* logits = growing.logits(i);
            out[{one->text, one->read}] = {logits, logits + model->config.vocab};
            if (one->read == texts[one->text].size()) one.reset();
        }
    }
}

/// `tolerance` of the largest where that is above one.
void check_decoding(const decoded_subject& s, const token_list& beginning, const std::vector<token_list>& texts,
                    double tolerance) {
    const auto model = s.decoded();
    const auto all = read_in_pieces(model, texts, beginning, 4, 1);
    std::map<std::size_t, at::Tensor> expected;
    for (const auto& [where, logits] : all) {
        const auto& [text, tokens] = where;
        if (!expected.count(text)) expected[text] = s.whole(texts[text]);
        const auto right = expected[text][static_cast<std::int64_t>(tokens) - 1];
        CHECK(largest_difference(at::tensor(logits), right) <=
              tolerance * std::max(1.0, right.abs().max().item<double>()));
    }
    // To the bit the same, whatever the pieces and the company are, and whether panels are held.
    for (const auto& other :
         {read_in_pieces(model, texts, beginning, 1, 2), read_in_pieces(model, texts, beginning, 9, 3),
          read_in_pieces(s.decoded(0), texts, beginning, 3, 4)}) {
        std::size_t compared = 0;
        for (const auto& [where, logits] : other)
            if (const auto same = all.find(where); same != all.end()) {
                ++compared;
                CHECK(std::memcmp(logits.data(), same->second.data(), logits.size() * sizeof(float)) == 0);
            }
        CHECK(compared >= texts.size());
    }
}

}  // namespace

TEST_CASE("decoding says what full forward passes say, of every family", "[decoding]") {
    for (const auto& type : model_types())
        for (unsigned seed = 1; seed <= 6; ++seed) {
            INFO(type << ", seed " << seed);
            const auto s = random_subject(type, seed, seed % 2 == 0);
            random_source random(seed + 100);
            const auto vocab = s.model->config().vocab;
            const auto beginning =
                seed % 3 == 0 ? token_list{} : random_texts(random, vocab, 1, seed == 4 ? 70 : 5, {})[0];
            check_decoding(s, beginning, random_texts(random, vocab, 7, 90, beginning), 2e-4);
        }
}

TEST_CASE("golden: decoding says what full forward passes say", "[golden]") {
    const auto all = golden_directories();
    if (all.empty()) WARN("skipped: no shared data");
    for (const auto& directory : all) {
        INFO(directory);
        const auto json = read_json(directory / "case.json");
        const auto model = causal_lm::load(directory, at::kFloat, at::kCPU);
        auto adapter = load_adapter(directory / json.at("adapter").get<std::string>(), model->config());
        std::vector<token_list> texts;
        for (const auto& row : json.at("input_ids")) texts.push_back(row.get<token_list>());
        check_decoding({model}, {}, texts, 1e-5);
        check_decoding({model, adapter.layout, adapter.flat}, {}, texts, 1e-5);
    }
}

TEST_CASE("a base in blocks or in bfloat16 is decoded by what it holds, in float32", "[decoding]") {
    random_source random(5);
    auto config = random_config(random, "llama");
    config.heads = config.kv_heads = 2;
    config.head_dim = 32;
    config.width = 64;
    config.inner = 128;
    auto halves = random_weights(config);
    auto wide = halves, read = halves;
    base_weights blocks;
    for (auto& [name, weight] : halves) {
        weight = weight.to(at::kBFloat16);
        wide.at(name) = weight.to(at::kFloat);
        if (weight.dim() != 2) {
            blocks.numbers[name] = read.at(name);
            continue;
        }
        auto& numbers = read.at(name);
        const auto matrix = quantize_matrix(
            block_type::q4_1, numbers.size(0), numbers.size(1),
            [&, from = numbers.contiguous()](std::int64_t i) { return from.data_ptr<float>() + i * from.size(1); });
        numbers = at::empty({matrix.rows, matrix.columns});
        matrix.read_rows(0, matrix.rows, numbers.data_ptr<float>());
        blocks.blocks.emplace(name, weight_matrix(matrix, at::kBFloat16));
    }
    const token_list text{1, 2, 3, 4, 0, 1};
    const auto said = [&](std::shared_ptr<const causal_lm> model) {
        return read_in_pieces(decoded_subject{std::move(model)}.decoded(), {text}, {}, 1, 7);
    };
    CHECK(said(causal_lm::from_weights(config, halves)) == said(causal_lm::from_weights(config, wide)));
    CHECK(said(causal_lm::from_weights(config, blocks)) == said(causal_lm::from_weights(config, read)));
}

TEST_CASE("what can't be decoded is refused", "[decoding]") {
    const auto s = random_subject("llama", 1, false);
    const auto model = s.decoded();
    growing_texts texts(model, 1, 3);
    const token_list beyond{static_cast<std::int32_t>(model->config.vocab)};
    CHECK(has(refusal([&] { texts.read(std::vector<growing_texts::piece>{{0, beyond, true}}); }), "vocabulary"));
}

}  // namespace rldp::models::test

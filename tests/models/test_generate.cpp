// Generation with a key/value cache: equal to full forward passes, whatever shares the batch.
#include <ATen/core/grad_mode.h>

#include "models/forward_pass.hpp"
#include "models/generate.hpp"
#include "tests/models/random_models.hpp"

#include "tests/catch.hpp"

namespace rldp::models::test {

namespace {

using token_list = std::vector<std::int32_t>;

struct subject {
    std::shared_ptr<const causal_lm> model;
    lora_layout layout;
    at::Tensor flat;

    explicit subject(unsigned seed) {
        random_source random(seed);
        const auto config = random_config(random);
        model = causal_lm::from_weights(config, random_weights(config));
        layout = make_layout(config, random_lora(random, config));
        flat = 0.3 * at::randn({layout.dimension});
    }
    subject(const fs::path& directory, const fs::path& adapter)
        : model(causal_lm::load(directory, at::kFloat, at::kCPU)) {
        auto loaded = load_adapter(adapter, model->config());
        layout = loaded.layout;
        flat = loaded.flat;
    }
    // Logits after the last of `ids`, from a full forward pass.
    at::Tensor uncached(const token_list& ids, bool adapted) const {
        const at::NoGradGuard no_grad;
        const auto batch = make_batch({ids});
        return model->logits(batch.ids, adapted ? &layout : nullptr, adapted ? &flat : nullptr)[0][-1];
    }
    std::vector<std::vector<continuation>> generate(const std::vector<prompt>& prompts,
                                                    const generation_config& config) const {
        return models::generate(*model, &layout, &flat, prompts, config);
    }
};

// Reads prompts and random tokens through the cache; every row's logits must be those of its text alone, to `tolerance`
// of the largest where that is above one.
void check_cache(const subject& s, const std::vector<token_list>& prompts, std::int64_t samples, std::int64_t steps,
                 bool adapted, double tolerance) {
    std::vector<std::int64_t> lengths;
    for (const auto& ids : prompts) lengths.push_back(static_cast<std::int64_t>(ids.size()));
    attention_memory memory(s.model->config(), lengths, samples, steps);
    std::vector<token_list> rows;
    for (const auto& ids : prompts) rows.insert(rows.end(), static_cast<std::size_t>(samples), ids);
    auto next = make_batch(prompts).ids;
    for (std::int64_t step = 0; step <= steps; ++step) {
        const auto logits = s.model->extend(memory, next, adapted ? &s.layout : nullptr, adapted ? &s.flat : nullptr);
        REQUIRE(logits.size(0) == static_cast<std::int64_t>(rows.size()));
        next = at::randint(s.model->config().vocab, {logits.size(0), 1}, at::kLong);
        for (std::size_t row = 0; row < rows.size(); ++row) {
            const auto at = static_cast<std::int64_t>(row);
            const auto expected = s.uncached(rows[row], adapted);
            CHECK(largest_difference(logits[at], expected) <=
                  tolerance * std::max(1.0, expected.abs().max().item<double>()));
            rows[row].push_back(static_cast<std::int32_t>(next[at][0].item<std::int64_t>()));
        }
    }
}

std::vector<fs::path> golden() {
    auto found = golden_directories();
    if (found.empty()) WARN("skipped: no shared data");
    return found;
}

}  // namespace

TEST_CASE("logits through the cache are those of the whole text", "[generate]") {
    for (unsigned seed = 1; seed <= 40; ++seed) {
        const subject s(seed);
        random_source random(seed + 1000);
        INFO("seed " << seed << ", " << s.model->config().model_type);
        check_cache(s, random_sequences(random, s.model->config().vocab, 9), random.between(1, 3), 7, seed % 2 == 0,
                    1e-4);
    }
}

TEST_CASE("golden: logits through the cache are those of the whole text", "[golden]") {
    for (const auto& directory : golden()) {
        INFO(directory);
        const auto json = read_json(directory / "case.json");
        const subject s(directory, directory / json.at("adapter").get<std::string>());
        std::vector<token_list> prompts;
        for (const auto& row : json.at("input_ids")) prompts.push_back(row.get<token_list>());
        prompts.resize(2);
        prompts[0].resize(prompts[0].size() / 2);  // rows of different lengths
        for (const bool adapted : {false, true})
            check_cache(s, prompts, 2, 4, adapted,
                        directory.filename() == "stories260K" ? 2e-4 : 5e-5);  // as for all logits (golden README)
    }
}

TEST_CASE("golden: greedy tokens are those of transformers, base and adapted, with a stop token and without",
          "[golden]") {
    for (const auto& directory : golden()) {
        const auto json = read_json(directory / "case.json");
        if (!json.contains("greedy")) continue;
        const subject s(directory, directory / json.at("adapter").get<std::string>());
        for (const std::string which : {"base", "lora"}) {
            INFO(directory << " " << which);
            const auto& expected = json.at("greedy").at(which);
            const auto ids = expected.at("prompt").get<token_list>();
            const bool adapted = which == "lora";
            generation_config config;
            config.max_new_tokens = static_cast<std::int64_t>(expected.at("new_tokens").size());
            const auto greedy = [&] {
                return generate(*s.model, adapted ? &s.layout : nullptr, adapted ? &s.flat : nullptr, {{ids}},
                                config)[0][0];
            };
            CHECK(greedy().ids == expected.at("new_tokens").get<token_list>());
            CHECK(!greedy().stopped);
            if (!expected.contains("with_eos") || expected.at("with_eos").is_null()) continue;
            config.stop = {expected.at("with_eos").at("eos_token_id").get<std::int64_t>()};
            auto all = ids;
            const auto stopped = greedy();
            all.insert(all.end(), stopped.ids.begin(), stopped.ids.end());
            CHECK(stopped.stopped);
            CHECK(all == expected.at("with_eos").at("output_ids").get<token_list>());
        }
    }
}

TEST_CASE("golden: stories260K tells the story of llama2.c", "[golden]") {
    const fs::path directory = "../shared/data/stories260K";
    if (!fs::exists(directory / "story.json")) {
        WARN("skipped: no shared data");
        return;
    }
    const auto story = read_json(directory / "story.json");
    const auto ids = story.at("prompt_ids").get<token_list>(), expected = story.at("output_ids").get<token_list>();
    const auto model = causal_lm::load(directory, at::kFloat, at::kCPU);
    generation_config config;
    config.max_new_tokens = static_cast<std::int64_t>(expected.size() - ids.size());
    auto all = ids;
    const auto more = generate(*model, nullptr, nullptr, {{ids}}, config)[0][0].ids;
    all.insert(all.end(), more.begin(), more.end());
    CHECK(all == expected);
    CHECK(read_stop_tokens(directory) == std::vector<std::int64_t>{2});
}

TEST_CASE("greedy takes the argmax of a full forward pass", "[generate]") {
    for (unsigned seed = 1; seed <= 10; ++seed) {
        const subject s(seed);
        token_list ids{1, 2, 3};
        const auto made = s.generate({{ids}}, {{}, 12})[0][0];
        REQUIRE(made.ids.size() == 12);
        for (const auto id : made.ids) {
            const auto logits = s.uncached(ids, true);
            CHECK((logits.max() - logits[id]).item<double>() <= 1e-5);
            ids.push_back(id);
        }
    }
}

TEST_CASE("a batch gives what each prompt gives alone, and each sample its own text", "[generate]") {
    for (unsigned seed = 1; seed <= 10; ++seed) {
        const subject s(seed);
        const std::vector<prompt> prompts{{{1, 2, 3}, 7}, {{4}, 8}, {{0, 1, 0, 1, 0, 1, 2}, 9}, {{1, 2, 3}, 10}};
        for (const double temperature : {0.0, 1.5}) {
            const generation_config config{{temperature, 0, 0.95}, 10, 3, {2}};
            const auto together = s.generate(prompts, config);
            REQUIRE(together.size() == prompts.size());
            for (std::size_t i = 0; i < prompts.size(); ++i) {
                const auto alone = s.generate({prompts[i]}, config);
                REQUIRE(together[i].size() == 3);
                for (std::size_t sample = 0; sample < 3; ++sample) {
                    CHECK(together[i][sample].ids == alone[0][sample].ids);
                    CHECK(together[i][sample].stopped == alone[0][sample].stopped);
                }
            }
            auto few = config;
            few.samples = 1;
            CHECK(s.generate({prompts[1]}, few)[0][0].ids == together[1][0].ids);
        }
    }
    const subject s(3);
    const generation_config hot{{3.0, 0, 1}, 12, 2};
    const auto texts = s.generate({{{1, 2}, 1}, {{1, 2}, 2}}, hot);
    CHECK(texts[0][0].ids != texts[0][1].ids);
    CHECK(texts[0][0].ids != texts[1][0].ids);
}

TEST_CASE("a text ends with its first stop token", "[generate]") {
    const subject s(4);
    const generation_config free{{2.0, 0, 1}, 20, 8};
    auto config = free;
    config.stop = {1, 3};
    const auto longer = s.generate({{{1, 2, 3}, 5}}, free)[0], shorter = s.generate({{{1, 2, 3}, 5}}, config)[0];
    for (std::size_t i = 0; i < longer.size(); ++i) {
        auto expected = longer[i].ids;
        const auto end = std::find_if(expected.begin(), expected.end(), [](auto id) { return id == 1 || id == 3; });
        CHECK(shorter[i].stopped == (end != expected.end()));
        if (end != expected.end()) expected.erase(end + 1, expected.end());
        CHECK(shorter[i].ids == expected);
    }
}

TEST_CASE("alternatives are log-probabilities before temperature and cuts", "[generate]") {
    const subject s(2);
    const std::int64_t vocab = s.model->config().vocab;
    const generation_config config{{0.5, 2, 0.9}, 3, 1, {}, vocab + 5};
    const auto text = s.generate({{{1, 2}, 3}}, config)[0][0];
    token_list ids{1, 2};
    REQUIRE(text.alternatives.size() == 3);
    for (std::size_t step = 0; step < 3; ++step) {
        const auto expected = at::log_softmax(s.uncached(ids, true).to(at::kDouble), 0);
        REQUIRE(static_cast<std::int64_t>(text.alternatives[step].size()) == vocab);
        double above = INFINITY;
        for (const auto& [id, log_probability] : text.alternatives[step]) {
            CHECK(log_probability == Approx(expected[id].item<double>()).margin(1e-4));
            CHECK(log_probability <= above);
            above = log_probability;
        }
        ids.push_back(text.ids[step]);
    }
}

TEST_CASE("what can't be generated is refused in one line", "[generate]") {
    const subject s(1);
    const auto says = [&](const token_list& ids, const generation_config& config, const std::string& what) {
        CHECK(has(refusal([&] { s.generate({{ids}}, config); }), what));
    };
    says({1, 2}, {{-1}, 3}, "temperature");
    says({1, 2}, {{NAN}, 3}, "temperature");
    says({1, 2}, {{INFINITY}, 3}, "temperature");
    says({1, 2}, {{1, -1}, 3}, "top-k");
    says({1, 2}, {{1, 0, 0}, 3}, "top-p");
    says({1, 2}, {{1, 0, 1.1}, 3}, "top-p");
    says({1, 2}, {{}, 0}, "new tokens");
    says({1, 2}, {{}, 3, 0}, "samples");
    says({1, 2}, {{}, 3, 1, {}, -1}, "alternatives");
    says({}, {{}, 3}, "no tokens");
    says({1, 2}, {{}, 299}, "prompt of 2 tokens and 299 new ones exceed the model's window of 300");
    says({1, 2}, {{}, std::numeric_limits<std::int64_t>::max()}, "exceed the model's window");
    says({1, 1000}, {{}, 3}, "vocabulary");
    CHECK(s.generate({{{1, 2}}}, {{}, 298})[0][0].ids.size() == 298);
}

}  // namespace rldp::models::test

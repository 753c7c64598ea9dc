// Unit gradients of tensors that are trained whole, against autograd one unit at a time, on random models.
#include <cmath>
#include <limits>

#include "models/marked_token.hpp"
#include "models/unit_gradients.hpp"
#include "tests/models/random_models.hpp"

#include "tests/catch.hpp"

namespace rldp::models::test {

namespace {

using texts = std::vector<std::vector<std::int32_t>>;

struct whole_setting {
    model_config config;
    std::shared_ptr<const causal_lm> model;
    lora_layout layout;
    at::Tensor flat;
    std::vector<texts> units;

    whole_setting(unsigned seed, const std::string& model_type, const std::vector<std::string>& wanted,
                  std::int64_t most_records = 3) {
        random_source random(seed);
        config = random_config(random, model_type);
        model = causal_lm::from_weights(config, random_weights(config));
        layout = make_tensor_layout(config, wanted);
        flat = model->flatten_tensors(layout);
        units.resize(static_cast<std::size_t>(random.between(1, 4)));
        for (auto& one : units) {
            one.resize(static_cast<std::size_t>(random.between(1, most_records)));
            for (auto& record : one)
                for (auto length = random.between(2, 14); length > 0; --length)
                    record.push_back(static_cast<std::int32_t>(random.between(0, config.vocab - 1)));
        }
    }
};

at::Tensor by_autograd(const whole_setting& s, const texts& records) {
    auto flat = s.flat.clone().requires_grad_();
    at::Tensor loss = at::zeros({}, at::kFloat);
    for (const auto& record : records) {
        const auto ids = make_batch({record}).ids;
        const auto logits = s.model->logits(ids, &s.layout, &flat)[0];
        const auto count = logits.size(0) - 1;
        loss = loss + at::cross_entropy_loss(logits.narrow(0, 0, count), ids[0].narrow(0, 1, count)) /
                          static_cast<double>(records.size());
    }
    loss.backward();
    return flat.grad();
}

std::vector<std::size_t> list_all(std::size_t count) {
    std::vector<std::size_t> out(count);
    for (std::size_t i = 0; i < count; ++i) out[i] = i;
    return out;
}

at::Tensor shown(const factored_gradients& kept, std::int64_t dimension) {
    auto out = at::zeros({kept.units(), dimension});
    auto times = at::zeros({kept.units(), dimension}, at::kLong);
    kept.each(std::vector<bool>(static_cast<std::size_t>(kept.units()), true),
              [&](std::int64_t unit, std::int64_t offset, const at::Tensor& numbers) {
                  out[unit].narrow(0, offset, numbers.numel()).copy_(numbers);
                  times[unit].narrow(0, offset, numbers.numel()).add_(1);
              });
    CHECK(times.max().item<std::int64_t>() <= 1);
    return out;
}

tensor_unit_gradients computed(const whole_setting& s, const chunk_rule& how = {.micro_batch = 1}) {
    const auto views = view_units(s.units);
    return compute_tensor_gradients(*s.model, s.layout, s.flat, views, list_all(s.units.size()), how);
}

/// Bounds hold for the very numbers that are shown, and are hardly above them.
void check_bounds(const factored_gradients& kept, const at::Tensor& rows, double loosest) {
    const auto bounds = kept.norm_bounds();
    for (std::int64_t unit = 0; unit < kept.units(); ++unit)
        for (std::size_t t = 0; t < kept.tensors().size(); ++t) {
            const auto& tensor = kept.tensors()[t];
            const auto norm = rows[unit].narrow(0, tensor.offset, tensor.size).to(at::kDouble).norm().item<double>();
            const auto bound = bounds[unit][static_cast<std::int64_t>(t)].item<double>();
            CHECK(norm <= bound * (1 + 1e-12));  // float64 adds up in more than one order
            CHECK(bound <= norm * loosest + 1e-4);
        }
}

void compare(const whole_setting& s) {
    const auto made = computed(s);
    const auto rows = shown(made.gradients, s.layout.dimension);
    for (std::size_t i = 0; i < s.units.size(); ++i) {
        const auto expected = by_autograd(s, s.units[i]);
        const double error = (rows[static_cast<std::int64_t>(i)] - expected).norm().item<double>();
        CHECK(error <= 3e-4 * expected.norm().item<double>() + 2e-5);
    }
    check_bounds(made.gradients, rows, 1.01);
}

}  // namespace

TEST_CASE("whole: every family's unit gradients are autograd's, of all tensors, tied and untied") {
    for (const auto& type : model_types())
        for (unsigned seed = 0; seed < 12; ++seed) {
            INFO(type << " " << seed);
            compare(whole_setting(seed, type, {"all"}));
        }
}

TEST_CASE("whole: biases, norms, embeddings or single modules alone are autograd's") {
    for (unsigned seed = 0; seed < 6; ++seed) {
        INFO(seed);
        for (const auto& words : std::vector<std::vector<std::string>>{
                 {"bias"}, {"norm"}, {"embedding"}, {"c_attn"}, {"o"}, {"wpe"}, {"mlp.c_proj", "ln_f"}})
            compare(whole_setting(seed, "gpt2", words));
        for (const auto& words : std::vector<std::vector<std::string>>{
                 {"bias"}, {"norm"}, {"embedding"}, {"k"}, {"down", "model.norm"}, {R"(model\.layers\.0\..*)"}})
            compare(whole_setting(seed, "qwen2", words));
        compare(whole_setting(seed, "phi3", {"qkv_proj"}));
        compare(whole_setting(seed, "gemma2", {"embedding"}));
    }
}

TEST_CASE("whole: a long unit's norms, by products instead of Gram matrices, are bounded too") {
    // Short units of a wide module go by Gram matrices, long ones of a narrow module by products.
    for (const bool wide : {false, true}) {
        model_config c = tiny_gpt2(3)->config();
        c.width = wide ? 64 : 8;
        c.head_dim = wide ? 32 : 4;
        c.vocab = wide ? 700 : 17;
        at::manual_seed(5);
        whole_setting s(1, "gpt2", {"all"});
        s.config = c;
        s.model = causal_lm::from_weights(c, random_weights(c));
        s.layout = make_tensor_layout(c, {"all"});
        s.flat = s.model->flatten_tensors(s.layout);
        s.units = {{{1, 2, 3, 4, 5, 2, 2, 2, 9, 8, 7, 6, 5, 4}, {3, 3, 1}}, {{4, 5}}};
        compare(s);
    }
}

TEST_CASE("whole: other units of a chunk, padding and dummies change no unit's gradient") {
    for (unsigned seed = 0; seed < 10; ++seed) {
        INFO(seed);
        const whole_setting s(seed, seed % 2 ? "llama" : "gpt2", {"all"});
        const auto together = shown(computed(s).gradients, s.layout.dimension);
        const auto padded = computed(s, {.micro_batch = 1, .shape = unit_shape{3, 16}});
        const auto in_shape = shown(padded.gradients, s.layout.dimension);
        const auto views = view_units(s.units);
        for (std::size_t i = 0; i < s.units.size(); ++i) {
            const auto alone = compute_tensor_gradients(*s.model, s.layout, s.flat, views, {i}, {.micro_batch = 1});
            const auto row = shown(alone.gradients, s.layout.dimension)[0];
            const double scale = row.norm().item<double>();
            CHECK((together[static_cast<std::int64_t>(i)] - row).norm().item<double>() <= 1e-4 * scale);
            CHECK((in_shape[static_cast<std::int64_t>(i)] - row).norm().item<double>() <= 1e-4 * scale);
        }
    }
}

TEST_CASE("whole: positions that add nothing move no bound, however many company's padding makes") {
    at::manual_seed(8);
    const std::int64_t rows = 200, columns = 300, own = 5, padding = 90;  // by Gram matrices, padded or not
    const auto left = at::randn({own, rows}), right = at::randn({own, columns});
    const auto bound = [&](const at::Tensor& more_left, const at::Tensor& more_right) {
        const auto count = own + more_left.size(0);
        backward_factors page;
        page.product = product_factors{at::cat({left, more_left}), at::cat({right, more_right}), {0, count}};
        const factored_gradients kept({{"", "", {rows, columns}, 0, rows * columns}}, {page}, 1);
        return kept.norm_bounds().item<double>();
    };
    const auto alone = bound(at::zeros({0, rows}), at::zeros({0, columns}));
    CHECK(bound(at::zeros({padding, rows}), at::randn({padding, columns})) == Approx(alone).epsilon(1e-12));
    CHECK(bound(at::randn({padding, rows}), at::zeros({padding, columns})) == Approx(alone).epsilon(1e-12));
}

TEST_CASE("whole: weights of marked tokens and answers count in a record's mean as they do for adapters") {
    whole_setting s(2, "llama", {"all"}, 1);
    s.units = {{{1, marked(2), 3, marked(0), 2}}, {{1, 1, 3}}};
    const auto weighted = computed(s, {.micro_batch = 1, .value_weight = 5});
    const auto plain = computed(s);
    const auto views = view_units(s.units);
    const chunk_rule how{.micro_batch = 4, .value_weight = 5};
    const auto lora = make_layout(s.config, {2, 4, 0, {"q"}});
    const auto by_lora = unit_gradients(*s.model, lora, at::zeros({lora.dimension}), views, {0, 1}, how);
    CHECK(at::allclose(weighted.losses, by_lora.losses));
    CHECK_FALSE(at::allclose(weighted.losses, plain.losses));
    const auto of_answers = computed(s, {.micro_batch = 1, .answers_only = true});
    CHECK(of_answers.losses[1].item<double>() == 0);
    CHECK(shown(of_answers.gradients, s.layout.dimension)[1].abs().max().item<double>() == 0);
    CHECK(of_answers.gradients.norm_bounds()[1].max().item<double>() < 1e-12);
}

TEST_CASE("whole: a gradient that is not finite has no finite bound, and no other unit suffers") {
    whole_setting s(4, "gpt2", {"all"}, 1);
    s.config.tied_head = false;
    s.model = causal_lm::from_weights(s.config, random_weights(s.config));
    s.layout = make_tensor_layout(s.config, {"all"});
    s.flat = s.model->flatten_tensors(s.layout);
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), 1e30}) {
        auto spoiled = s.flat.clone();
        view_part(spoiled, s.layout.tensors.front())[0].fill_(bad);  // the embedding of token 0
        s.units = {{{1, 2, 3}}, {{2, 0, 1}}};
        const auto made = compute_tensor_gradients(*s.model, s.layout, spoiled, view_units(s.units), {0, 1}, {});
        const auto bounds = made.gradients.norm_bounds();
        CHECK(bounds[0].isfinite().all().item<bool>());
        if (std::isnan(bad)) CHECK_FALSE(bounds[1].isfinite().all().item<bool>());
    }
}

TEST_CASE("whole: an adapter of whole tensors stands for the model that has them") {
    for (const auto& type : model_types()) {
        INFO(type);
        const whole_setting s(6, type, {"all"});
        const auto moved = s.flat + 0.01 * at::randn(s.flat.sizes());
        const auto tuned = s.model->tuned(s.layout, moved);
        const auto batch = make_batch(s.units.front());
        CHECK(at::equal(tuned->flatten_tensors(s.layout), moved));
        CHECK(at::equal(s.model->losses(batch, &s.layout, &moved).nll, tuned->losses(batch, nullptr, nullptr).nll));
        CHECK(at::equal(s.model->logits(batch.ids, &s.layout, &moved), tuned->logits(batch.ids, nullptr, nullptr)));
        CHECK_FALSE(
            at::equal(s.model->losses(batch, &s.layout, &moved).nll, s.model->losses(batch, nullptr, nullptr).nll));
        const auto views = view_units(s.units);
        CHECK(at::allclose(unit_losses(*s.model, s.layout, moved, views, {0}, {.micro_batch = 2}),
                           compute_tensor_gradients(*s.model, s.layout, moved, views, {0}, {}).losses));
    }
}

TEST_CASE("whole: words of train.parameters choose the tensors they name, and others are refused") {
    const auto config = tiny_gpt2(1)->config();
    const auto names = [&](const std::vector<std::string>& words) {
        std::vector<std::string> out;
        for (const auto& tensor : choose_trained_tensors(config, words)) out.push_back(tensor.name);
        return out;
    };
    CHECK(names({"all"}).size() == base_tensors(config).size());
    CHECK(names({"embedding"}) == std::vector<std::string>{"transformer.wte.weight", "transformer.wpe.weight"});
    CHECK(names({"ln_f"}) == std::vector<std::string>{"transformer.ln_f.weight", "transformer.ln_f.bias"});
    CHECK(names({"h.1.attn.c_proj"}).size() == 2);
    CHECK(names({"o"}).size() == 4);
    CHECK(names({"bias"}).size() == 2 * 6 + 1);
    CHECK(names({"bias", "norm", "ln_1"}).size() == names({"bias", "norm"}).size());
    std::int64_t offset = 0;
    for (const auto& tensor : choose_trained_tensors(config, {"all"})) {
        CHECK(tensor.offset == offset);
        offset += tensor.size;
    }
    CHECK_THROWS_WITH(names({"q"}), "train.parameters: 'q' is part of 'c_attn' in this gpt2; name that");
    CHECK_THROWS_WITH(names({"qkv"}), Catch::StartsWith("train.parameters: 'qkv' matches no tensor of this gpt2; "));
    CHECK_THROWS_WITH(names({"(("}), Catch::StartsWith("train.parameters: '((' is not a regular expression"));
}

}  // namespace rldp::models::test

// Per-record gradients against autograd alone, one record at a time, on random models.
#include <ATen/core/grad_mode.h>

#include "models/marked_token.hpp"
#include "models/unit_gradients.hpp"
#include "tests/models/random_models.hpp"

#include "tests/catch.hpp"

namespace rldp::models::test {

namespace {

constexpr unsigned models_tried = 200;

struct setting {
    model_config config;
    std::shared_ptr<const causal_lm> model;
    lora_layout layout;
    at::Tensor flat;
    std::vector<std::vector<std::int32_t>> sequences;

    explicit setting(unsigned seed, std::int64_t longest = 12, const std::string& model_type = {}) {
        random_source random(seed);
        config = model_type.empty() ? random_config(random) : random_config(random, model_type);
        model = causal_lm::from_weights(config, random_weights(config));
        layout = make_layout(config, random_lora(random, config));
        flat = 0.3 * at::randn({layout.dimension});
        sequences = random_sequences(random, config.vocab, longest);
    }
};

struct reference {
    at::Tensor gradient;
    double loss;
};

// No padding, no custom backward for the adapter, no chunks. At (1 + `off`) times the adapter.
reference by_autograd(const setting& s, const std::vector<std::int32_t>& sequence, double off = 0) {
    const auto batch = make_batch({sequence});
    auto flat = (s.flat * (1 + off)).requires_grad_();
    const auto logits = s.model->logits(batch.ids, &s.layout, &flat)[0];
    const auto count = logits.size(0) - 1;
    const auto loss = at::cross_entropy_loss(logits.narrow(0, 0, count), batch.ids[0].narrow(0, 1, count));
    loss.backward();
    return {flat.grad(), loss.item<double>()};
}

void compare(const setting& s) {
    const auto result = s.model->gradients(make_batch(s.sequences), s.layout, s.flat);
    for (std::size_t i = 0; i < s.sequences.size(); ++i) {
        const auto expected = by_autograd(s, s.sequences[i]);
        const auto row = static_cast<std::int64_t>(i);
        CHECK(result.losses[row].item<double>() == Approx(expected.loss).epsilon(1e-4));
        const double error = (result.gradients[row] - expected.gradient).norm().item<double>();
        // The absolute part is rounding where summands cancel. A few of the random models magnify rounding; by how
        // much, a change of the adapter in its last bits tells.
        const double magnified =
            (by_autograd(s, s.sequences[i], 1e-6).gradient - expected.gradient).norm().item<double>();
        CHECK(error <= 2e-4 * expected.gradient.norm().item<double>() + 1e-5 + 3 * magnified);
    }
}

}  // namespace

TEST_CASE("per-record gradients are those of autograd, one record at a time", "[gradients]") {
    for (unsigned seed = 1; seed <= models_tried; ++seed) {
        const setting s(seed);
        INFO("seed " << seed << ", " << s.config.model_type);
        compare(s);
    }
}

namespace {

std::vector<sequence> marked_at_random(std::vector<sequence> sequences) {
    for (auto& each : sequences)
        for (auto& token : each)
            if (at::rand({1}).item<double>() < 0.4) token = marked(token);
    return sequences;
}

}  // namespace

TEST_CASE("marked tokens weigh what they are told to, and are told apart", "[gradients]") {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        setting s(seed);
        INFO("seed " << seed);
        auto marks = marked_at_random(s.sequences);
        const std::vector<token_span> spans(marks.begin(), marks.end());
        const auto batch = make_batch(spans, {.value_weight = 5});
        const auto weighted = s.model->gradients(batch, s.layout, s.flat);
        CHECK(largest_difference(s.model->record_losses(batch, s.layout, s.flat), weighted.losses) <= 1e-6);
        const auto losses = s.model->losses(batch, &s.layout, &s.flat);
        const auto plain = s.model->losses(make_batch(s.sequences), &s.layout, &s.flat);
        CHECK(largest_difference(losses.nll, plain.nll) <= 1e-6);
        for (std::size_t i = 0; i < marks.size(); ++i) {
            const auto row = static_cast<std::int64_t>(i);
            auto flat = s.flat.clone().requires_grad_();
            const auto ids = make_batch({s.sequences[i]}).ids;
            const auto count = ids.size(1) - 1;
            if (count == 0) continue;
            const auto nll = at::cross_entropy_loss(s.model->logits(ids, &s.layout, &flat)[0].narrow(0, 0, count),
                                                    ids[0].narrow(0, 1, count), {}, at::Reduction::None);
            auto values = at::zeros({count});
            for (std::int64_t t = 0; t < count; ++t)
                values[t] = is_marked(marks[i][static_cast<std::size_t>(t) + 1]) ? 1 : 0;
            const auto weights = 1 + 4 * values;
            const auto loss = (nll * weights).sum() / weights.sum();
            loss.backward();
            CHECK(losses.value_nll[row].item<double>() == Approx((nll * values).sum().item<double>()).margin(1e-4));
            CHECK(weighted.losses[row].item<double>() == Approx(loss.item<double>()).epsilon(1e-4));
            const double error = (weighted.gradients[row] - flat.grad()).norm().item<double>();
            CHECK(error <= 1e-3 * flat.grad().norm().item<double>() + 1e-5);
        }
    }
}

TEST_CASE("where answers alone are predicted, what they follow from is context", "[gradients]") {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        setting s(seed);
        INFO("seed " << seed);
        auto marks = marked_at_random(s.sequences);
        marks.push_back({1, 2, 1});          // without an answer
        marks.push_back({marked(1), 2, 1});  // nothing predicts a first token
        const std::vector<token_span> spans(marks.begin(), marks.end());
        const auto batch = make_batch(spans, {.answers_only = true});
        const auto found = s.model->gradients(batch, s.layout, s.flat);
        const auto losses = s.model->losses(batch, &s.layout, &s.flat);
        CHECK(at::equal(losses.nll, losses.value_nll));
        // In a batch of one shape all is labelled, and weighed instead.
        const auto padded =
            s.model->gradients(make_batch(spans, {.length = 13, .answers_only = true}), s.layout, s.flat);
        CHECK(largest_difference(padded.losses, found.losses) <= 1e-5);
        CHECK(largest_difference(padded.gradients, found.gradients) <=
              1e-3 * found.gradients.norm(2, 1).max().item<double>() + 1e-5);
        for (std::size_t i = 0; i < marks.size(); ++i) {
            const auto row = static_cast<std::int64_t>(i);
            std::vector<std::int32_t> plain(marks[i].size());
            std::transform(marks[i].begin(), marks[i].end(), plain.begin(), unmarked);
            const auto answers = plain.size() < 2 ? 0 : std::count_if(marks[i].begin() + 1, marks[i].end(), is_marked);
            CHECK(losses.tokens[row].item<std::int64_t>() == answers);
            if (answers == 0) {
                CHECK(found.losses[row].item<double>() == 0);
                CHECK(found.gradients[row].norm().item<double>() == 0);
                continue;
            }
            auto flat = s.flat.clone().requires_grad_();
            const auto ids = make_batch({plain}).ids;
            auto labels = ids[0].narrow(0, 1, ids.size(1) - 1).clone();
            for (std::int64_t t = 0; t < labels.size(0); ++t)
                if (!is_marked(marks[i][static_cast<std::size_t>(t) + 1])) labels[t] = -100;
            const auto loss =
                at::cross_entropy_loss(s.model->logits(ids, &s.layout, &flat)[0].narrow(0, 0, labels.size(0)), labels);
            loss.backward();
            CHECK(found.losses[row].item<double>() == Approx(loss.item<double>()).epsilon(1e-4));
            const double error = (found.gradients[row] - flat.grad()).norm().item<double>();
            CHECK(error <= 1e-3 * flat.grad().norm().item<double>() + 1e-5);
        }
    }
}

TEST_CASE("units' losses without their gradients are the same", "[gradients]") {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        setting s(seed);
        std::vector<std::vector<sequence>> held(4);  // a unit of nobody among them
        for (std::size_t i = 0; i < s.sequences.size(); ++i) held[i % 3].push_back(s.sequences[i]);
        const auto units = view_units(held);
        const std::vector<std::size_t> all = {0, 1, 2, 3};
        for (const auto& shape : {std::optional<unit_shape>{}, std::optional<unit_shape>{{3, 16}}}) {
            CAPTURE(seed, shape.has_value());
            const chunk_rule how{2, shape, 3};
            const auto with = unit_gradients(*s.model, s.layout, s.flat, units, all, how);
            const auto alone = unit_losses(*s.model, s.layout, s.flat, units, all, how);
            CHECK(largest_difference(alone, with.losses) <= 1e-6);
            CHECK(alone[3].item<double>() == 0);
        }
    }
}

TEST_CASE("long sequences are attended to in several blocks", "[gradients]") {
    for (const auto& model_type : model_types()) {
        const setting s(101, 290, model_type);
        INFO(model_type);
        compare(s);
    }
}

TEST_CASE("activations that are computed again give the same bits, dropout and padding included", "[gradients]") {
    for (unsigned seed = 1; seed <= models_tried; ++seed) {
        const setting s(seed);
        INFO("seed " << seed << ", " << s.config.model_type);
        const dropout_source masks = [&](std::size_t pair, at::IntArrayRef shape) {
            at::manual_seed(seed * 1000 + pair);  // the same each time, as it must be
            return at::bernoulli(at::full(shape, 0.5)).to(at::kBool);
        };
        for (const auto& dropout : {dropout_source{}, masks}) {
            const auto batch = make_batch(s.sequences);
            const auto kept = s.model->gradients(batch, s.layout, s.flat, dropout, activations::kept);
            const auto again = s.model->gradients(batch, s.layout, s.flat, dropout, activations::recomputed);
            CHECK(at::equal(kept.gradients, again.gradients));
            CHECK(at::equal(kept.losses, again.losses));
        }
    }
}

TEST_CASE("of a layer whose activations are computed again only its input is held", "[gradients]") {
    std::int64_t layers = 0;
    for (unsigned seed = 1; seed <= 60 && layers < 3; ++seed) {  // a model deep enough
        const setting s(seed, 12, "llama");
        layers = s.config.layers;
        if (layers < 3) continue;
        const auto batch = make_batch(s.sequences);
        std::vector<std::size_t> asked;
        const dropout_source masks = [&](std::size_t pair, at::IntArrayRef shape) {
            asked.push_back(pair);
            return at::ones(shape, at::kBool);
        };
        s.model->gradients(batch, s.layout, s.flat, masks, activations::kept);
        CHECK(asked.size() == s.layout.pairs.size());
        asked.clear();
        s.model->gradients(batch, s.layout, s.flat, masks, activations::recomputed);
        CHECK(asked.size() > s.layout.pairs.size());
        CHECK(asked.size() < 2 * s.layout.pairs.size());
    }
    REQUIRE(layers >= 3);
}

TEST_CASE("the summed gradient is the sum of the records'", "[gradients]") {
    for (unsigned seed = 1; seed <= 5; ++seed) {
        const setting s(seed);
        const auto batch = make_batch(s.sequences);
        const auto each = s.model->gradients(batch, s.layout, s.flat);
        const auto sum = s.model->summed_gradient(batch, s.layout, s.flat);
        CHECK(sum.gradients.sizes() == at::IntArrayRef({1, s.layout.dimension}));
        const auto expected = each.gradients.sum(0);
        CHECK((sum.gradients[0] - expected).norm().item<double>() <= 1e-4 * expected.norm().item<double>() + 1e-6);
    }
}

TEST_CASE("dropout acts on the adapter's input alone", "[gradients]") {
    // A mask that is the same at every position equals an adapter whose A has its columns scaled.
    for (unsigned seed = 1; seed <= 10; ++seed) {
        setting s(seed);
        s.layout.config.dropout = 0.4;
        std::vector<at::Tensor> columns;
        auto scaled = s.flat.clone();
        for (std::size_t i = 0; i < s.layout.pairs.size(); ++i) {
            columns.push_back(at::bernoulli(at::full({s.layout.pairs[i].d_in}, 0.6)) / 0.6);
            s.layout.a(scaled, i).mul_(columns.back());
        }
        const dropout_source dropout = [&](std::size_t pair, at::IntArrayRef shape) {
            return columns[pair].gt(0).expand(shape).contiguous();
        };
        const auto batch = make_batch(s.sequences);
        const auto dropped = s.model->gradients(batch, s.layout, s.flat, dropout);
        const auto expected = s.model->gradients(batch, s.layout, scaled);
        CHECK(largest_difference(dropped.losses, expected.losses) <= 1e-4);
        for (std::size_t i = 0; i < s.layout.pairs.size(); ++i)
            for (std::int64_t row = 0; row < batch.ids.size(0); ++row) {
                const auto &ours = dropped.gradients[row], &theirs = expected.gradients[row];
                const double norm = theirs.norm().item<double>() + 1e-2;
                const auto a = s.layout.a(theirs, i) * columns[i];
                CHECK(largest_difference(s.layout.a(ours, i), a) <= 2e-4 * norm);
                CHECK(largest_difference(s.layout.b(ours, i), s.layout.b(theirs, i)) <= 2e-4 * norm);
            }
    }
}

TEST_CASE("a record that predicts nothing has neither loss nor gradient", "[gradients]") {
    const setting s(3);
    const auto result = s.model->gradients(make_batch({{1, 2, 3}, {4}}), s.layout, s.flat);
    CHECK(result.losses[1].item<double>() == 0);
    CHECK(result.gradients[1].abs().max().item<double>() == 0);
    CHECK(result.gradients[0].abs().max().item<double>() > 0);
    const auto alone = s.model->gradients(make_batch({{4}}), s.layout, s.flat);
    CHECK(alone.gradients.abs().max().item<double>() == 0);
}

TEST_CASE("padded positions hold no NaN, however short the window", "[gradients]") {
    for (unsigned seed = 1; seed <= 10; ++seed) {
        const setting s(seed);
        const auto batch = make_batch({{1, 2}, std::vector<std::int32_t>(20, 3)});
        CHECK(s.model->logits(batch.ids, &s.layout, &s.flat).isfinite().all().item<bool>());
    }
}

TEST_CASE("a base is trained through training_loss", "[gradients]") {
    random_source random(5);
    for (const auto& model_type : model_types()) {
        const auto config = random_config(random, model_type);
        auto weights = random_weights(config);
        for (auto& [name, weight] : weights) weight = weight.detach().requires_grad_();
        const auto model = causal_lm::from_weights(config, weights);
        const auto batch = make_batch({{1, 2, 3, 4}, {2, 2, 1}});
        const auto loss = model->training_loss(batch);
        loss.backward();
        const auto each = model->losses(batch, nullptr, nullptr);
        CHECK(loss.item<double>() == Approx((each.nll.sum() / each.tokens.sum()).item<double>()).epsilon(1e-5));
        for (auto& [name, weight] : weights) {
            INFO(model_type << " " << name);
            REQUIRE(weight.grad().defined());
            // The directional derivative along the gradient, by central differences.
            const auto direction = weight.grad() / (weight.grad().norm() + 1e-12);
            const double step = 1e-2, expected = weight.grad().norm().item<double>();
            const at::NoGradGuard no_grad;
            weight.add_(direction, step);
            const double above = model->training_loss(batch).item<double>();
            weight.sub_(direction, 2 * step);
            const double below = model->training_loss(batch).item<double>();
            weight.add_(direction, step);
            CHECK((above - below) / (2 * step) == Approx(expected).epsilon(0.05).margin(2e-3));
        }
    }
}

TEST_CASE("bad batches are refused", "[gradients]") {
    const setting s(2);
    const auto says = [&](const token_batch& batch, const std::string& what) {
        CHECK(has(refusal([&] { s.model->losses(batch, nullptr, nullptr); }), what));
    };
    says(make_batch({std::vector<std::int32_t>(301, 1)}), "window of 300");
    says(make_batch({{1, static_cast<std::int32_t>(s.config.vocab)}}), "vocabulary");
    says(make_batch({{1, marked(static_cast<std::int32_t>(s.config.vocab))}}), "vocabulary");
}

}  // namespace rldp::models::test

// Clipping unit gradients that are never all multiplied out: no unit moves a sum by more than its bound.
#include "run/step_gradients.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "privacy/mechanism/sanitizer.hpp"
#include "run/factories.hpp"
#include "tests/actors/fixtures.hpp"
#include "tests/catch.hpp"
#include "tests/support/threads.hpp"

using namespace rldp;
using namespace rldp::actors;
using rldp::privacy::clip_rule;

namespace {

run_model whole_model(const std::string& type, unsigned seed, const std::vector<std::string>& wanted = {"all"}) {
    models::test::random_source random(seed);
    const auto described = models::test::random_config(random, type);
    run_model out;
    out.base = models::causal_lm::from_weights(described, models::test::random_weights(described));
    out.layout = models::make_tensor_layout(described, wanted);
    out.initial_adapter = out.base->flatten_tensors(out.layout);
    return out;
}

std::vector<std::vector<models::sequence>> some_units(models::test::random_source& random, std::int64_t vocab,
                                                      std::int64_t count) {
    std::vector<std::vector<models::sequence>> out(static_cast<std::size_t>(count));
    for (auto& unit : out) {
        unit.resize(static_cast<std::size_t>(random.between(1, 2)));
        for (auto& record : unit)
            for (auto length = random.between(2, 12); length > 0; --length)
                record.push_back(static_cast<std::int32_t>(random.between(0, vocab - 1)));
    }
    return out;
}

privacy::step_terms make_terms(clip_rule rule, std::size_t groups, double radius) {
    privacy::step_terms out;
    out.rule = rule;
    out.radii.assign(groups, radius);
    out.stabiliser = 0.01;
    return out;
}

struct summed {
    at::Tensor gradient;  ///< float64 [D]
    at::Tensor norms;     ///< as measured
};

summed compute_sum(const run_model& model, const std::vector<privacy::segment>& segments,
                   const privacy::step_terms& terms, const std::vector<std::vector<models::sequence>>& units,
                   std::int64_t micro_batch, const at::Tensor& adapter) {
    privacy::step_sum sum(segments, terms);
    std::vector<at::Tensor> norms;
    step_gradients(
        model, {.micro_batch = micro_batch}, adapter, {}, models::view_units(units), {},
        [&](const privacy::unit_gradients& chunk) { norms.push_back(sum.add(chunk).norms); },
        [](const std::exception& reason) { FAIL(reason.what()); });
    return {sum.gradient(sum.of(sum.numbers())), at::cat(norms)};
}

double longest(const at::Tensor& gradient, const std::vector<privacy::segment>& segments) {
    std::vector<double> squares(segments.size(), 0);  // of each group, of which there are no more
    std::int64_t offset = 0;
    for (const auto& part : segments) {
        squares[part.group] += gradient.narrow(0, offset, part.size).square().sum().item<double>();
        offset += part.size;
    }
    return std::sqrt(*std::max_element(squares.begin(), squares.end()));
}

/// Parts of one matrix [rows, columns] from made-up factors of one unit.
std::shared_ptr<const privacy::gradient_parts> made_up(const at::Tensor& left, const at::Tensor& right) {
    models::backward_factors page;
    page.product = models::product_factors{left, right, {0, left.size(0)}};
    const models::trained_tensor tensor{
        "w.weight", "w", {left.size(1), right.size(1)}, 0, left.size(1) * right.size(1)};
    return as_parts(models::factored_gradients({tensor}, {page}, 1));
}

}  // namespace

TEST_CASE("whole: with a unit and without it, sums of every family differ by the radius at most") {
    for (const auto& type : models::test::model_types())
        for (const auto groups : {clip_grouping::flat, clip_grouping::adapters})
            for (const auto rule : {clip_rule::clip, clip_rule::normalise, clip_rule::psac}) {
                INFO(type << " " << name_of(groups) << " " << static_cast<int>(rule));
                models::test::random_source random(static_cast<unsigned>(rule) + 7);
                const auto model = whole_model(type, 11);
                const auto segments = make_segments(groups, model.layout);
                auto units = some_units(random, model.base->config().vocab, 5);
                const double radius = 1e-3;  // below every norm
                const auto n = privacy::sizes_of_groups(segments).size();
                const auto terms = make_terms(rule, n, radius);
                const auto with = compute_sum(model, segments, terms, units, 4, model.initial_adapter);
                // Whoever is alone is no longer than the radius, whatever rounding does.
                for (const auto& unit : units) {
                    const auto alone = compute_sum(model, segments, terms, {unit}, 4, model.initial_adapter);
                    CHECK(longest(alone.gradient, segments) <= radius);
                    if (rule == clip_rule::clip) CHECK(longest(alone.gradient, segments) >= 0.9 * radius);
                }
                units.erase(units.begin() + 2);
                const auto without = compute_sum(model, segments, terms, units, 4, model.initial_adapter);
                // η is 0.001; a test of the whole margin, over many draws, is in test_rounding.
                CHECK(longest(with.gradient - without.gradient, segments) <= radius * 1.001);
                CHECK(longest(with.gradient - without.gradient, segments) > 0.1 * radius);
            }
}

TEST_CASE("whole: the clipped sum is that of rows, up to what bounds are above norms") {
    const auto model = whole_model("gpt2", 5);
    models::test::random_source random(3);
    const auto units = some_units(random, model.base->config().vocab, 4);
    const auto segments = make_segments(clip_grouping::adapters, model.layout);
    const auto n = privacy::sizes_of_groups(segments).size();
    std::vector<std::size_t> all{0, 1, 2, 3};
    const auto kept = models::compute_tensor_gradients(*model.base, model.layout, model.initial_adapter,
                                                       models::view_units(units), all, {});
    auto rows = at::zeros({4, model.layout.dimension});
    kept.gradients.each({true, true, true, true}, [&](auto unit, auto offset, const at::Tensor& numbers) {
        rows[unit].narrow(0, offset, numbers.numel()).copy_(numbers);
    });
    const auto terms = make_terms(clip_rule::clip, n, 0.2);
    privacy::clipped_sum by_rows(segments, terms), by_parts(segments, terms);
    const auto seen = by_rows.add({rows, kept.losses, 1});
    const auto seen_parts = by_parts.add({{}, kept.losses, 1, as_parts(kept.gradients)});
    CHECK(seen.norms.sizes() == at::IntArrayRef({3, static_cast<std::int64_t>(n)}));
    CHECK((seen_parts.norms / seen.norms).min().item<double>() > 1 - 1e-12);
    CHECK((seen_parts.norms / seen.norms).max().item<double>() < 1.01);
    CHECK(at::equal(seen.losses, seen_parts.losses));
    const auto expected = by_rows.take();
    CHECK((by_parts.take() - expected).norm().item<double>() < 0.01 * expected.norm().item<double>());
    CHECK(by_parts.units() == 3);
}

TEST_CASE("whole: where a gradient's summands cancel, its bound holds all the same") {
    at::manual_seed(4);
    for (const double gap : {1e-2, 1e-4, 1e-6, 0.0})
        for (const std::int64_t n : {2, 40, 300})
            for (const std::int64_t width : {3, 90, 1000}) {
                INFO("gap " << gap << ", " << n << " positions, width " << width);
                const auto left = at::randn({n, width}), right = at::randn({n, width + 1});
                const auto both = at::cat({left, left * (1 + gap)}), other = at::cat({right, -right});
                const auto parts = made_up(both, other);
                privacy::clipped_sum sum({{width * (width + 1), 0}}, make_terms(clip_rule::clip, 1, 1e-3));
                sum.add({{}, at::zeros({1}, at::kDouble), 0, parts});  // fails where the bound does not hold
                CHECK(sum.take().norm().item<double>() <= 1e-3);
            }
}

TEST_CASE("whole: a sum is the same bits on any number of threads") {
    class one_part final : public privacy::gradient_parts {
      public:
        std::int64_t units() const override { return 1; }
        const std::vector<std::int64_t>& sizes() const override { return sizes_; }
        at::Tensor norm_bounds() const override { return at::full({1, 1}, bound_, at::kDouble); }
        void show(const std::vector<bool>&, const viewer& see) const override { see(0, 0, numbers_); }

      private:
        std::vector<std::int64_t> sizes_{200003};
        at::Tensor numbers_ = at::randn(sizes_);
        double bound_ = 1.001 * numbers_.to(at::kDouble).norm().item<double>();
    };
    const auto part = std::make_shared<one_part>();
    const auto sum = [&](int threads) {
        const testing::on_threads so_many(threads);
        privacy::clipped_sum out({{200003, 0}}, make_terms(clip_rule::clip, 1, 1));
        out.add({{}, at::zeros({1}, at::kDouble), 0, part});
        return out.take();
    };
    const auto alone = sum(1);
    for (const int threads : {2, 3, 7}) CHECK(at::equal(sum(threads), alone));
}

TEST_CASE("whole: a part that is longer than its bound is not summed") {
    class liar final : public privacy::gradient_parts {
      public:
        std::int64_t units() const override { return 1; }
        const std::vector<std::int64_t>& sizes() const override { return sizes_; }
        at::Tensor norm_bounds() const override { return at::full({1, 1}, 1.9, at::kDouble); }
        void show(const std::vector<bool>&, const viewer& see) const override { see(0, 0, at::ones({4})); }

      private:
        std::vector<std::int64_t> sizes_{4};
    };
    privacy::clipped_sum sum({{4, 0}}, make_terms(clip_rule::clip, 1, 1));
    CHECK_THROWS_WITH(sum.add({{}, at::zeros({1}, at::kDouble), 0, std::make_shared<liar>()}),
                      Catch::Contains("longer than the bound"));
}

TEST_CASE("whole: a unit that is not finite, or fails, counts as zero, and the others stay") {
    auto model = whole_model("llama", 9);
    auto described = model.base->config();
    described.tied_head = false;  // else the row that is spoiled below would be in every unit's logits
    model.base = models::causal_lm::from_weights(described, models::test::random_weights(described));
    model.layout = models::make_tensor_layout(described, {"all"});
    model.initial_adapter = model.base->flatten_tensors(model.layout);
    models::test::random_source random(1);
    auto units = some_units(random, model.base->config().vocab - 1, 4);
    const auto last = static_cast<std::int32_t>(model.base->config().vocab - 1);
    const auto segments = make_segments(clip_grouping::flat, model.layout);
    const auto terms = make_terms(clip_rule::clip, 1, 0.1);
    auto spoiled = model.initial_adapter.clone();
    models::view_part(spoiled, model.layout.tensors.front())[last].fill_(std::nan(""));
    const auto sum = [&](const auto& of, const at::Tensor& adapter) {
        privacy::step_sum out(segments, terms);
        int failures = 0;
        step_gradients(
            model, {.micro_batch = 4}, adapter, {}, models::view_units(of), {},
            [&](const privacy::unit_gradients& chunk) { out.add(chunk); }, [&](const std::exception&) { ++failures; });
        return std::pair(out.gradient(out.of(out.numbers())), failures);
    };
    const auto [plain, none] = sum(units, model.initial_adapter);
    CHECK(none == 0);
    auto with_failing = units;
    with_failing.push_back({{1, 2, last + 5}});  // beyond the vocabulary: its chunk is computed unit by unit
    const auto [others, failures] = sum(with_failing, model.initial_adapter);
    CHECK(failures == 1);
    CHECK((others - plain).norm().item<double>() <= 1e-4 * plain.norm().item<double>());
    auto with_nan = units;
    with_nan.push_back({{1, last, 2}});
    CHECK((sum(with_nan, spoiled).first - plain).norm().item<double>() <= 1e-4 * plain.norm().item<double>());
}

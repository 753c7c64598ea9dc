// What is written for a device gives what the CPU gives, mixes no devices, and lets the host wait where it says it
// does.
#include <ATen/ATen.h>

#include <numeric>

#include "eval/held_out.hpp"
#include "models/adamw.hpp"
#include "models/device.hpp"
#include "models/lora/dropout.hpp"
#include "models/marked_token.hpp"
#include "models/unit_gradients.hpp"
#include "privacy/mechanism/clipping.hpp"
#include "privacy/mechanism/sanitizer.hpp"
#include "privacy/methods/geometries.hpp"
#include "run/step_gradients.hpp"
#include "tests/actors/fixtures.hpp"
#include "tests/catch.hpp"
#include "tests/device/host_device.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp;
using namespace rldp::testing;

namespace {

bool no_device() {
    if (has_host_device) return false;
    WARN("skipped: the host's device is written for LibTorch 1.13");
    return true;
}

at::Tensor there(const at::Tensor& t) {
    return t.defined() ? t.to(host_device()) : t;
}

std::map<std::string, at::Tensor> there(std::map<std::string, at::Tensor> weights) {
    for (auto& [name, tensor] : weights) tensor = there(tensor);
    return weights;
}

double apart(const at::Tensor& here, const at::Tensor& device) {
    return (device.cpu() - here).norm().item<double>() / (here.norm().item<double>() + 1e-6);
}

/// A random model and units of up to three records, here and there.
struct both {
    models::model_config config;
    std::shared_ptr<const models::causal_lm> here, device;
    models::lora_layout layout;
    at::Tensor flat;
    std::vector<std::vector<models::sequence>> units;

    explicit both(unsigned seed, at::ScalarType dtype = at::kFloat) {
        models::test::random_source random(seed);
        config = models::test::random_config(random);
        auto weights = models::test::random_weights(config);
        for (auto& [name, weight] : weights) weight = weight.to(dtype);
        here = models::causal_lm::from_weights(config, weights);
        device = models::causal_lm::from_weights(config, there(weights));
        auto lora = models::test::random_lora(random, config);
        lora.dropout = 0.25;
        layout = models::make_layout(config, lora);
        flat = 0.3 * at::randn({layout.dimension});
        for (std::int64_t i = random.between(1, 4); i > 0; --i) {
            auto records = models::test::random_sequences(random, config.vocab, 12);
            records.resize(std::min<std::size_t>(records.size(), 3));
            for (auto& record : records)
                for (auto& token : record)
                    if (random.between(0, 2) == 0) token = models::marked(token);
            units.push_back(std::move(records));
        }
    }
};

actors::run_model there(actors::run_model model, const models::model_config& config, unsigned seed) {
    at::manual_seed(seed);
    model.base = models::causal_lm::from_weights(config, there(models::test::random_weights(config)));
    model.initial_adapter = there(model.initial_adapter);
    return model;
}

struct stepped {
    at::Tensor released, adapter;
    std::map<std::string, int> of_gradients, of_sums, of_release, of_update;
};

std::map<std::string, int> added(std::map<std::string, int> sum, const std::map<std::string, int>& more) {
    for (const auto& [name, count] : more) sum[name] += count;
    return sum;
}

/// One private step over units of one record each, in chunks of two.
stepped run_step(const actors::run_model& model, at::Device device, bool with_probes) {
    const auto layout = model.layout;
    std::vector<std::vector<models::sequence>> units;
    for (const auto& unit : tiny_units(6)) units.push_back(unit.records);
    std::vector<std::int64_t> sizes;
    for (const auto& pair : layout.pairs) sizes.push_back(pair.size);
    const auto key = privacy::run_key::insecure_from_seed(3);
    privacy::sanitizer sanitizer({.segments = privacy::make_segments(sizes)}, key);
    privacy::step_terms terms;
    terms.radii.assign(sizes.size(), 0.1);
    if (with_probes) {
        terms.probes = {1, 2};
        terms.measured = privacy::measure_losses(5, 2);
        terms.measurement_multiplier = privacy::measurement_multiplier(1, 0.02);
    }
    models::adamw optimizer(model.initial_adapter, {});
    const std::vector<at::Tensor> probes(terms.probes.size(), model.initial_adapter);
    stepped out;
    sanitizer.begin({charged_at(1), terms, probes});
    waits();
    actors::step_gradients(
        model, {.micro_batch = 2}, model.initial_adapter, probes, models::view_units(units),
        actors::make_dropout(key, 1, layout, device),
        [&](const privacy::unit_gradients& chunk) {
            out.of_gradients = added(out.of_gradients, waits());
            CHECK(chunk.gradients.device().type() == device.type());
            CHECK(chunk.gradients.scalar_type() == at::kFloat);
            CHECK(chunk.losses.is_cpu());
            sanitizer.add(chunk);
            out.of_sums = added(out.of_sums, waits());
        },
        [](const std::exception& reason) { FAIL(reason.what()); });
    out.released = sanitizer.finish().gradient;
    out.of_release = waits();
    optimizer.step(out.released, 1e-2);
    out.of_update = waits();
    out.adapter = optimizer.parameters();
    return out;
}

}  // namespace

TEST_CASE("a device that is the host's mixes nothing and counts what is waited for") {
    if (no_device()) return;
    waits();
    const auto x = there(at::arange(6, at::kFloat)), y = x.view({2, 3}).t() * 2;
    CHECK(y.device().type() == at::kPrivateUse1);
    CHECK(waits() == std::map<std::string, int>{{"from the CPU, waiting", 1}});
    CHECK(y[2][1].item<float>() == 10);
    CHECK(y.nonzero().size(0) == 5);
    CHECK(y.cpu().sum().item<float>() == 30);
    CHECK(waits() ==
          std::map<std::string, int>{{"aten::_local_scalar_dense", 1}, {"aten::nonzero", 1}, {"to the CPU", 1}});
    CHECK_THROWS_WITH(x + at::ones({6}), Catch::Contains("same device"));
    auto number = at::zeros({6}, at::kFloat)[0];
    CHECK_THROWS_WITH(number.add_(x[0]), Catch::Contains("same device"));
    CHECK((x + at::ones({})).cpu()[5].item<float>() == 6);
}

TEST_CASE("device: masks are the CPU's, bit by bit") {
    if (no_device()) return;
    const std::vector<models::mask_seed> seeds{{1, 2}, {0x123456789abcdef0, 0xfedcba9876543210}, {~0ULL, ~0ULL}};
    for (const double p : {0.05, 0.5})
        for (const std::int64_t width : {1, 8, 37}) {
            const auto here = models::dropout_masks(seeds, p, at::kCPU)(5, {3, 11, width});
            const models::dropout_masks masks(seeds, p, host_device());
            waits();
            const auto device = masks(5, {3, 11, width});
            CHECK(waits().empty());
            CHECK(device.cpu().equal(here));
        }
}

TEST_CASE("device: unit gradients and losses are the CPU's, for every family, group units, values and padding") {
    if (no_device()) return;
    for (unsigned seed = 0; seed < 60; ++seed) {
        const both given(seed);
        const auto key = privacy::run_key::insecure_from_seed(seed);
        const auto units = models::view_units(given.units);
        std::vector<std::size_t> all(units.size());
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
        models::chunk_rule how{.micro_batch = 1 + static_cast<std::int64_t>(seed % 4)};
        if (seed % 3 == 0) how.shape = models::unit_shape{3, 12};
        if (seed % 5 == 0) how.value_weight = 2;
        if (seed % 7 == 0) how.answers_only = true;
        CAPTURE(seed, given.config.model_type);
        const auto here = models::unit_gradients(*given.here, given.layout, given.flat, units, all, how,
                                                 actors::make_dropout(key, 1, given.layout, at::kCPU));
        const auto flat = there(given.flat);
        waits();
        const auto device = models::unit_gradients(*given.device, given.layout, flat, units, all, how,
                                                   actors::make_dropout(key, 1, given.layout, host_device()));
        const auto losses = models::unit_losses(*given.device, given.layout, flat, units, all, how);
        CHECK(waits().empty());
        CHECK(device.gradients.device().type() == at::kPrivateUse1);
        CHECK(device.losses.device().type() == at::kPrivateUse1);
        // Some models magnify rounding: no more than an adapter that differs in its last digits does.
        at::manual_seed(seed);
        const auto nearly = given.flat * (1 + 1e-6 * at::randn(given.flat.sizes(), given.flat.options()));
        const auto moved = models::unit_gradients(*given.here, given.layout, nearly, units, all, how,
                                                  actors::make_dropout(key, 1, given.layout, at::kCPU));
        CHECK(apart(here.gradients, device.gradients) < 1e-4 + 10 * apart(here.gradients, moved.gradients));
        CHECK(apart(here.losses, device.losses) < 1e-5);
        CHECK(apart(models::unit_losses(*given.here, given.layout, given.flat, units, all, how), losses) < 1e-5);
    }
}

TEST_CASE("device: gradients of a base in bfloat16 are the CPU's but for its rounding, and not rounded themselves") {
    if (no_device()) return;
    double sum = 0;
    for (unsigned seed = 0; seed < 10; ++seed) {
        const both given(seed, at::kBFloat16);
        const auto units = models::view_units(given.units);
        const models::chunk_rule how{.micro_batch = 4};
        const auto here = models::unit_gradients(*given.here, given.layout, given.flat, units, {0}, how);
        const auto device = models::unit_gradients(*given.device, given.layout, there(given.flat), units, {0}, how);
        sum += apart(here.gradients, device.gradients);
        CAPTURE(seed);
        for (const auto& each : {here.gradients, device.gradients.cpu()}) {
            REQUIRE(each.scalar_type() == at::kFloat);
            CHECK_FALSE(each.equal(each.to(at::kBFloat16).to(at::kFloat)));
        }
    }
    CHECK(sum / 10 < 0.1);
}

TEST_CASE("device: sums of whole tensors are the CPU's, though their rows are never there") {
    if (no_device()) return;
    for (unsigned seed = 0; seed < 30; ++seed) {
        const both model(seed);
        CAPTURE(seed, model.config.model_type);
        const auto layout = models::make_tensor_layout(model.config, {"all"});
        const auto flat = model.here->flatten_tensors(layout);
        const auto views = models::view_units(model.units);
        std::vector<std::size_t> all(views.size());
        std::iota(all.begin(), all.end(), 0);
        privacy::step_terms terms;
        terms.radii = {0.5};
        const auto compute_sum = [&](const models::causal_lm& base, const at::Tensor& tensors) {
            auto made = models::compute_tensor_gradients(base, layout, tensors, views, all, {.micro_batch = 4});
            privacy::clipped_sum sum({{layout.dimension, 0}}, terms);
            sum.add({{}, made.losses, 0, actors::as_parts(std::move(made.gradients))});
            return sum.take();
        };
        CHECK(apart(compute_sum(*model.here, flat), compute_sum(*model.device, there(flat))) < 1e-4);
    }
}

TEST_CASE("device: clipped sums are the CPU's, whatever the rule, the metric and the rows") {
    if (no_device()) return;
    const std::vector<privacy::segment> segments{{300, 0}, {50, 1}, {120, 0}}, one_group{{470, 0}};
    at::manual_seed(1);
    auto gradients = at::randn({9, 470}) * at::logspace(-3, 2, 9).unsqueeze(1);
    gradients[3][400] = std::nan("");
    gradients[7][0] = std::numeric_limits<float>::infinity();
    const auto losses = at::rand({9}, at::kDouble);
    const auto compare = [&](const std::vector<privacy::segment>& parts, const privacy::step_terms& terms) {
        privacy::clipped_sum here(parts, terms), device(parts, terms);
        const auto expected = here.add({gradients, losses, 2});
        const auto held = there(gradients);
        waits();
        const auto seen = device.add({held, losses, 2});
        const auto waited = waits();
        CHECK(waited.size() == 1);
        CHECK(waited.count("to the CPU") == 1);
        CHECK(at::allclose(seen.norms, expected.norms, 1e-12, 0));
        CHECK(seen.losses.equal(expected.losses));
        CHECK(device.units() == here.units());
        CHECK((device.numbers() - here.numbers()).abs().max().item<std::int64_t>() <= 16);
        return waited;
    };
    for (const auto rule : {privacy::clip_rule::clip, privacy::clip_rule::normalise, privacy::clip_rule::psac,
                            privacy::clip_rule::batch_mean}) {
        privacy::step_terms terms;
        terms.radii = {0.5, 0.2};
        terms.rule = rule;
        terms.stabiliser = 0.01;
        CHECK(compare(segments, terms).at("to the CPU") == 1);
    }
    privacy::step_terms terms;
    terms.radii = {0.5};
    terms.shape = std::make_shared<privacy::diagonal_geometry>(0.01 * at::randn({470}, at::kDouble),
                                                               at::rand({470}, at::kDouble) + 0.5);
    CHECK(compare(one_group, terms).at("to the CPU") == 1);
    const auto directions = std::get<0>(at::linalg_qr(at::randn({470, 3}, at::kDouble)));
    terms.shape = std::make_shared<privacy::spiked_geometry>(
        at::zeros({470}, at::kDouble),
        std::vector<privacy::spiked_block>{{directions, at::tensor({4.0, 3.0, 2.0}, at::kDouble), 1.0}});
    CHECK(compare(one_group, terms).at("to the CPU") == 1);
}

TEST_CASE("device: a step waits once for each chunk's losses, once for its norms, once for the sum, and nowhere else") {
    if (no_device()) return;
    const auto here = tiny_model();
    const auto device = there(here, here.base->config(), 3);
    for (const bool with_probes : {false, true}) {
        const auto expected = run_step(here, at::kCPU, with_probes);
        const auto got = run_step(device, host_device(), with_probes);
        using counts = std::map<std::string, int>;
        CHECK(got.of_gradients == counts{{"to the CPU", 3}});
        CHECK(got.of_sums == counts{{"to the CPU", 3}});
        CHECK(got.of_release == counts{{"to the CPU", 1}});
        CHECK(got.of_update.empty());
        CHECK(got.released.is_cpu());
        CHECK(apart(expected.released, got.released) < 1e-4);
        CHECK(apart(expected.adapter, got.adapter) < 1e-4);
    }
}

TEST_CASE("device: a unit that fails counts as zero there too") {
    if (no_device()) return;
    const auto here = tiny_model();
    const auto device = there(here, here.base->config(), 3);
    std::vector<std::vector<models::sequence>> units;
    for (const auto& unit : tiny_units(3)) units.push_back(unit.records);
    units[1][0][2] = 17;  // beyond the vocabulary
    std::vector<privacy::unit_gradients> chunks;
    int failures = 0;
    actors::step_gradients(
        device, {.micro_batch = 4}, device.initial_adapter, {}, models::view_units(units), {},
        [&](const privacy::unit_gradients& chunk) { chunks.push_back(chunk); },
        [&](const std::exception&) { ++failures; });
    CHECK(failures == 1);
    REQUIRE(chunks.size() == 1);
    const auto norms = chunks[0].gradients.cpu().norm(2, 1);
    // Longest first: units 2, 1, 0.
    CHECK(norms[0].item<float>() > 0);
    CHECK(norms[1].item<float>() == 0);
    CHECK(norms[2].item<float>() > 0);
}

TEST_CASE("device: an evaluation is the CPU's, on a stream that waits for its inputs' makers") {
    if (no_device()) return;
    for (unsigned seed = 0; seed < 8; ++seed) {
        const both given(seed);
        std::vector<models::sequence> sequences;
        for (const auto& unit : given.units)
            for (const auto& record : unit) sequences.push_back(record);
        const auto flat = there(given.flat);
        const eval::scoring how{.batch = 2};
        const auto here = eval::score_held_out(*given.here, &given.layout, &given.flat, sequences, how);
        const models::side_stream aside(host_device());
        stream_log();
        const auto device =
            aside.run([&] { return eval::score_held_out(*given.device, &given.layout, &flat, sequences, how); });
        CHECK(stream_log() == std::vector<std::string>{"record 0", "block 1", "use 1", "use 0"});
        CHECK(device.perplexity == Approx(here.perplexity).epsilon(1e-4));
        CHECK(device.value_nats.has_value() == here.value_nats.has_value());
    }
    stream_log();
    CHECK(models::side_stream(at::kCPU).run([] { return 5; }) == 5);
    CHECK(stream_log().empty());
}

TEST_CASE("a device that is not there is refused by name") {
    CHECK(models::find_device("cpu", "device") == at::Device(at::kCPU));
    CHECK(has(refusal([] { models::find_device("gpu", "device"); }), "none of cpu, cuda, cuda:N"));
    CHECK(has(refusal([] { models::find_device("cuda:999", "--device"); }), "--device: cuda:999 is asked for"));
}

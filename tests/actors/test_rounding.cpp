// Rounding: on the CPU who else was drawn moves nothing of a unit by a single bit, at any adapter and in any model, and
// so nothing is charged for it (docs/privacy.md §6). Where units share passes it would: that is what the probe sees.
#include <ATen/ATen.h>
#include <torch/version.h>

#include <map>
#include <random>

#include "config/config.hpp"
#include "config/open_keys.hpp"
#include "models/whole/whole_tensors.hpp"
#include "privacy/methods/geometries.hpp"
#include "run/plan.hpp"
#include "run/rounding.hpp"
#include "run/step_gradients.hpp"
#include "tests/actors/fixtures.hpp"
#include "tests/catch.hpp"
#include "tests/models/random_models.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp;
using namespace rldp::testing;

namespace {

config::run_spec make_spec(precision type, std::int64_t batch, const std::string& device = "cpu") {
    config::run_spec out;
    out.model.path = "config/tiny-gpt2";
    out.model.dtype = type;
    out.device = device;
    out.train.expected_batch_size = batch;
    return out;
}

/// At adapters where a run begins, where one goes that learns, and where training has left every scale behind.
const std::vector<double> distances{0.02, 1, 30};

at::Tensor moved(const at::Tensor& adapter, double distance) {
    at::manual_seed(3);
    return adapter + distance * at::randn_like(adapter);
}

actors::rounding_effect find_worst(actors::company_probe probe, const at::Tensor& adapter, int draws,
                                   std::size_t batch) {
    actors::rounding_effect worst;
    for (int i = 0; i < draws; ++i) worst.raise(probe.compare(adapter, batch));
    return worst;
}

/// Every unit's gradient and losses, as a run's step computes them, told apart by the unit's first token.
std::map<std::int32_t, std::pair<at::Tensor, at::Tensor>> run_step(const actors::run_model& model,
                                                                   const actors::gradient_settings& how,
                                                                   const std::vector<models::sequence>& units) {
    std::vector<models::unit_records> drawn;
    drawn.reserve(units.size());
    for (const auto& unit : units) drawn.push_back({unit});
    std::map<std::int32_t, std::pair<at::Tensor, at::Tensor>> out;
    const auto chunks = models::plan_chunks(drawn, 1);  // the order in which they are taken
    std::size_t next = 0;
    const auto probe = model.initial_adapter + 0.5;
    const auto key = privacy::run_key::insecure_from_seed(1);
    actors::step_gradients(
        model, how, model.initial_adapter, {probe}, drawn,
        actors::make_dropout(key, 1, model.layout, model.initial_adapter.device()),
        [&](const privacy::unit_gradients& chunk) {
            const auto unit = chunks.at(next++).front();
            out[units[unit].front()] = {chunk.gradients.clone(), chunk.losses.clone()};
        },
        [](const std::exception& reason) { FAIL(reason.what()); });
    return out;
}

}  // namespace

TEST_CASE("nobody's presence moves another's gradient or statistics by a single bit, wherever training has gone") {
    const auto type = GENERATE(precision::float32, precision::bfloat16);
    const auto spec = make_spec(type, 16);
    REQUIRE(actors::computes_apart(spec));
    CHECK(actors::compute_rounding_margin(spec) == 0);
    const auto loaded = actors::load_model(spec);
    for (const double distance : distances) {
        INFO(name_of(type) << " at distance " << distance);
        const auto adapter = moved(loaded.initial_adapter, distance);
        const auto seen = find_worst({loaded.base, loaded.layout, true, 16, 24, 5}, adapter, 40, 16);
        CHECK(seen.gradient == 0);
        CHECK(seen.statistics == 0);
    }
}

TEST_CASE("so it is in models of every family, whose attention is sharp, and of whole parameters") {
    unsigned seed = 0;
    double together = 0;
    for (const auto& type : models::test::model_types()) {
        models::test::random_source random(++seed);
        auto shape = models::test::random_config(random, type);
        shape.layers = 2;
        shape.heads = 4, shape.kv_heads = type == "gpt2" ? 4 : 2, shape.head_dim = 16;
        shape.width = 64, shape.inner = 96;  // of libraries' kernels, not of the loops for tiny matrices
        shape.sliding_layers.resize(shape.sliding_layers.empty() ? 0 : 2);
        auto weights = models::test::random_weights(shape);
        for (auto& [name, weight] : weights)
            if (name.find("q_proj") != std::string::npos || name.find("c_attn") != std::string::npos) weight *= 100;
        const auto model = models::causal_lm::from_weights(shape, weights);
        const auto layout = models::make_layout(shape, models::test::random_lora(random, shape));
        INFO(type);
        const auto adapter = moved(models::initial_adapter(layout, 1), 0.1);
        const auto seen = find_worst({model, layout, true, 16, 90, seed}, adapter, 4, 12);
        together = std::max(together, find_worst({model, layout, false, 16, 90, seed}, adapter, 4, 16).gradient);
        CHECK(seen.gradient == 0);
        CHECK(seen.statistics == 0);
        const auto whole = models::make_tensor_layout(shape, {"all"});
        const auto of_whole = find_worst({model, whole, true, 16, 90, seed}, model->flatten_tensors(whole), 2, 8);
        CHECK(of_whole.gradient == 0);
        CHECK(of_whole.statistics == 0);
    }
    INFO("in one pass: " << together << " C");
    if (together == 0 && TORCH_VERSION_MAJOR >= 2)
        WARN("skipped: this LibTorch's products are the same in any company");
    else
        CHECK(together > 1e-7);  // else nothing was compared
}

// Memory is given out anew, at other addresses, beside other tensors; the threads are those of a run.
TEST_CASE("a step gives a unit the same bits alone and among others, abreast, with dropout and losses at probes") {
    auto spec = make_spec(precision::float32, 12);
    spec.lora.dropout = 0.2;
    spec.train.micro_batch = 16;
    const auto model = actors::load_model(spec);
    std::mt19937 random(4);
    std::vector<models::sequence> units;
    for (std::int32_t i = 0; i < 24; ++i) {
        models::sequence tokens{i};
        while (tokens.size() < 2 + random() % 40) tokens.push_back(static_cast<std::int32_t>(random() % 50));
        units.push_back(tokens);
    }
    std::vector<at::Tensor> beside;
    auto how = actors::make_gradient_settings(spec, model);
    std::map<std::int32_t, std::pair<at::Tensor, at::Tensor>> alone;
    for (const auto& unit : units) {
        alone.merge(run_step(model, how, {unit}));
        beside.push_back(at::empty({static_cast<std::int64_t>(1 + random() % 3000)}, at::kByte));
    }
    for (const int abreast : {1, 2, 3}) {
        how.abreast = abreast;
        std::shuffle(units.begin(), units.end(), random);
        const auto all = run_step(model, how, units);
        REQUIRE(all.size() == units.size());
        for (const auto& [name, made] : all) {
            CHECK(at::equal(made.first, alone.at(name).first));
            CHECK(at::equal(made.second, alone.at(name).second));
        }
    }
}

TEST_CASE("where units share passes a probe stops the run before company moves more than a fifth of what is charged") {
    const auto model = tiny_model();
    const auto probe = std::make_shared<actors::company_probe>(model.base, model.layout, false, 4, 12, 1);
    const auto adapter = moved(model.initial_adapter, 0.1);
    const auto watch = [&](double margin) { return actors::watch_with(probe, 3, margin, 4); };
    const auto says = [&](double margin, std::int64_t step) {
        return refusal([&] { watch(margin)(step, adapter, {}); });
    };
    double seen = 0;
    for (int i = 0; i < 20; ++i) seen = std::max(seen, probe->compare(adapter, 4).gradient);
    if (seen == 0) {
        WARN("skipped: this LibTorch's products are the same in any company");
        return;
    }
    std::string found;
    for (int i = 0; i < 20 && found.empty(); ++i) found = says(0, 4);
    CHECK(found.find("rounding: before step 4, one more made-up unit moves the others' sum") != std::string::npos);
    CHECK(says(0, 5).empty());     // between two probes
    CHECK(says(1e-3, 4).empty());  // what is charged on such a device
    // What is little in Euclid's metric may be much in the one that a step is clipped in.
    const auto measured = [&](const at::Tensor& scales) {
        actors::company_probe one(model.base, model.layout, false, 4, 12, 1);
        const auto shape = std::make_shared<privacy::diagonal_geometry>(at::zeros_like(scales), scales);
        double out = 0;
        for (int i = 0; i < 20; ++i) out = std::max(out, one.compare(adapter, 4, shape).gradient);
        return out;
    };
    const auto even = at::ones({model.layout.dimension}, at::kDouble);
    auto fine = even.clone();
    fine.narrow(0, 0, model.layout.dimension / 2) *= 1e-4;
    CHECK(measured(even) > 0);
    CHECK(measured(7 * even) == Approx(measured(even)).epsilon(0.001));
    CHECK(std::abs(measured(fine) / measured(even) - 1) > 0.01);
    CHECK(config::steps_between_probes("cpu", semantics::sound, 16) == 0);
    CHECK(config::steps_between_probes("cuda", semantics::sound, 16) == 12);
    CHECK(config::steps_between_probes("cuda", semantics::sound, 256) == 1);
}

TEST_CASE("where η is charged every sensitivity grows by it, and it with the batch") {
    CHECK(privacy::sensitivities(privacy::clip_rule::clip, {0.1, 0.2}, 0.05) == std::vector{0.1 * 1.05, 0.2 * 1.05});
    CHECK(privacy::sensitivities(privacy::clip_rule::batch_mean, {0.1}, 0.05).front() == Approx(0.21));
    const auto margin = [](std::int64_t batch) {
        return actors::compute_rounding_margin(make_spec(precision::float32, batch, "cuda"));
    };
    CHECK(margin(16) == 1e-3);
    CHECK(margin(16) == margin(64));
    CHECK(margin(256) == Approx(2 * margin(64)));
    CHECK(actors::compute_rounding_margin(make_spec(precision::tf32, 64, "cuda")) == 0);
}

// What a CUDA device computes, against the processor: gradients of random models, whole runs, two ranks.
#include <ATen/ATen.h>

#include "actors/follower.hpp"
#include "base/files.hpp"
#include "models/device.hpp"
#include "models/lora/dropout.hpp"
#include "models/lora/layout.hpp"
#include "models/unit_gradients.hpp"
#include "tests/actors/small_runs.hpp"
#include "tests/catch.hpp"
#include "tests/models/random_models.hpp"
#include "tests/models/support.hpp"
#include "tests/run/ranks/teams.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::testing;

namespace {

/// Says so where there is none.
bool no_device() {
    if (at::hasCUDA()) return false;
    WARN("skipped: this LibTorch sees no CUDA device");
    return true;
}

std::map<std::string, at::Tensor> on_device(std::map<std::string, at::Tensor> weights) {
    for (auto& [name, tensor] : weights) tensor = tensor.to(at::kCUDA);
    return weights;
}

/// Of the small run with these settings.
at::Tensor trained(const std::vector<std::string>& more, const std::filesystem::path& directory) {
    run_quietly(small(more), directory);
    return saved_adapter(directory);
}

const std::string cuda = "device=cuda", reproducible = "noise.insecure_reproducible=true";

}  // namespace

TEST_CASE("cuda: a card says its generation and memory, and an old one is not asked for bfloat16") {
    const auto old = [] { models::check_precision({.generation = 75}, precision::bfloat16, "model.dtype"); };
    CHECK(has(refusal(old), "model.dtype: the CUDA device has compute capability 7.5, and bfloat16 came with 8.0"));
    CHECK_NOTHROW(models::check_precision({.generation = 75}, precision::float32, "model.dtype"));
    CHECK_NOTHROW(models::check_precision({.generation = 80}, precision::bfloat16, "model.dtype"));
    CHECK_FALSE(models::find_card(at::kCPU, "device"));
    if (no_device()) return;
    const auto card = models::find_card(models::find_device("cuda", "device"), "device");
    REQUIRE(card);
    CHECK(card->generation >= 50);
    CHECK(card->free > 0);
    CHECK(card->free <= card->all);
    const auto held = at::empty({64 << 20}, at::TensorOptions(at::kCUDA).dtype(at::kByte));
    CHECK(models::find_card(held.device(), "device")->free < card->free);
}

TEST_CASE("cuda: unit gradients are the processor's, up to rounding") {
    if (no_device()) return;
    for (unsigned seed = 0; seed < 60; ++seed) {
        models::test::random_source random(seed);
        const auto config = models::test::random_config(random);
        const auto weights = models::test::random_weights(config);
        const auto layout = models::make_layout(config, models::test::random_lora(random, config));
        const at::Tensor flat = 0.3 * at::randn({layout.dimension});
        const auto sequences = models::test::random_sequences(random, config.vocab, 12);
        std::vector<models::unit_records> units;
        for (const auto& sequence : sequences) units.push_back(models::unit_records{sequence});
        if (seed % 2 == 0) units.push_back({sequences.begin(), sequences.end()});  // a group
        std::vector<std::size_t> all(units.size());
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
        const auto here =
            models::unit_gradients(*models::causal_lm::from_weights(config, weights), layout, flat, units, all, {});
        const auto there = models::unit_gradients(*models::causal_lm::from_weights(config, on_device(weights)), layout,
                                                  flat.to(at::kCUDA), units, all, {});
        INFO("seed " << seed);
        REQUIRE(there.gradients.is_cuda());
        const auto norms = here.gradients.norm(2, 1);
        const auto apart = (there.gradients.cpu() - here.gradients).norm(2, 1);
        CHECK((apart <= 1e-3 * norms + 1e-6).all().item<bool>());
        CHECK(at::allclose(there.losses.cpu(), here.losses, 1e-4, 1e-5));
    }
}

// Losses of transformers and PEFT; gradients of the processor, which test_models compares with Opacus'.
TEST_CASE("cuda: golden gradients of every family") {
    if (no_device()) return;
    const auto directories = models::test::golden_directories();
    if (directories.empty()) WARN("skipped: no shared data");
    for (const auto& directory : directories) {
        const models::safetensors_file data(directory / "case.safetensors");
        if (!data.contains("nu")) continue;
        INFO(directory);
        const auto adapter =
            directory / models::test::read_json(directory / "case.json").at("adapter").get<std::string>();
        const models::token_batch batch{data.tensor("input_ids").clone(), data.tensor("labels").clone()};
        const auto compute = [&](at::Device device, at::ScalarType dtype) {
            const auto model = models::causal_lm::load(directory, dtype, device);
            const auto [layout, flat] = models::load_adapter(adapter, model->config());
            return model->gradients({batch.ids.to(device), batch.labels.to(device)}, layout, flat.to(device));
        };
        const auto expected = compute(at::kCPU, at::kFloat).gradients;
        const auto made = compute(at::kCUDA, at::kFloat);
        CHECK(at::allclose(made.losses.cpu().to(at::kDouble), data.tensor("loss_lora").to(at::kDouble), 1e-4, 1e-5));
        const auto apart = (made.gradients.cpu() - expected).norm(2, 1);
        CHECK((apart <= 1e-4 * expected.norm(2, 1) + 2e-5).all().item<bool>());
        // Of bfloat16 only the way they point.
        const auto narrow = compute(at::kCUDA, at::kBFloat16).gradients.cpu();
        const auto cosines = (narrow * expected).sum(1) / (narrow.norm(2, 1) * expected.norm(2, 1));
        CHECK(cosines.min().item<double>() > 0.98);
    }
}

TEST_CASE("cuda: masks are the processor's, bit by bit") {
    if (no_device()) return;
    const std::vector<models::mask_seed> seeds{{1, 2}, {0x123456789abcdef0, 0xfedcba9876543210}, {3, ~0ULL}};
    for (const std::int64_t width : {1, 37, 768})
        CHECK(models::dropout_masks(seeds, 0.05, at::kCUDA)(5, {3, 50, width})
                  .cpu()
                  .equal(models::dropout_masks(seeds, 0.05, at::kCPU)(5, {3, 50, width})));
}

TEST_CASE("cuda: what is computed again is the same, bit by bit") {
    if (no_device()) return;
    for (const auto type : {precision::float32, precision::tf32, precision::bfloat16}) {
        const auto dtype = models::use_precision(type, at::kCUDA);
        for (unsigned seed = 0; seed < 20; ++seed) {
            models::test::random_source random(seed);
            const auto config = models::test::random_config(random);
            auto weights = on_device(models::test::random_weights(config));
            for (auto& [name, tensor] : weights) tensor = tensor.to(dtype);
            const auto model = models::causal_lm::from_weights(config, weights);
            const auto layout = models::make_layout(config, models::test::random_lora(random, config));
            const at::Tensor flat = (0.3 * at::randn({layout.dimension})).to(at::kCUDA);
            std::vector<std::int32_t> tokens(200);
            for (auto& token : tokens) token = static_cast<std::int32_t>(random.between(0, config.vocab - 1));
            const std::vector<models::unit_records> units{{tokens}};
            const auto compute = [&] { return models::unit_gradients(*model, layout, flat, units, {0}, {}); };
            const auto first = compute();
            for (int again = 0; again < 5; ++again) {
                const auto next = compute();
                INFO(name_of(type) << ", seed " << seed);
                CHECK(next.gradients.equal(first.gradients));
                CHECK(next.losses.equal(first.losses));
            }
        }
    }
}

TEST_CASE("cuda: a run is the processor's, up to what rounding grows to") {
    if (no_device()) return;
    scratch_directory scratch;
    const auto here = trained({reproducible}, scratch / "cpu");
    const auto there = trained({reproducible, cuda}, scratch / "cuda");
    CHECK((there - here).norm().item<double>() <= 0.05 * here.norm().item<double>());
    // the noise of another seed is far
    const auto other = trained({reproducible, "seed=9"}, scratch / "other");
    CHECK((other - here).norm().item<double>() > 0.05 * here.norm().item<double>());
}

TEST_CASE("cuda: every precision and method ends, and a resume goes on") {
    if (no_device()) return;
    scratch_directory scratch;
    for (const std::string precision : {"bfloat16", "tf32"}) {
        const auto adapter = trained({cuda, "model.dtype=" + precision}, scratch / precision);
        CHECK(adapter.isfinite().all().item<bool>());
    }
    for (const std::string method : {"static", "adaclip", "geoclip", "autoclip_quantile"}) {
        const auto summary = run_quietly(small({cuda, "method.name=" + method}), scratch / method);
        CHECK(summary.steps_done == 12);
    }
    { actors::create_run(small({cuda}), scratch / "cut"); }
    CHECK(resume_quietly(scratch / "cut").steps_done == 12);
}

TEST_CASE("cuda: two ranks are one, up to rounding") {
    if (no_device()) return;
    scratch_directory scratch;
    const auto alone = trained({reproducible, cuda}, scratch / "alone");
    const auto config = small({reproducible, cuda});
    const auto said = as_ranks(2, [&](const std::shared_ptr<ranks::team>& team) {
        if (team->rank() > 0)
            return actors::follow([&] { return actors::join_run(config, scratch / "two", {}, *team); }, team,
                                  eval::run_directory{scratch / "two"}.log());
        actors::launch([&] { return actors::create_run(config, scratch / "two", {}, team); },
                       {.name = "test", .monitor = {}, .display = {}, .on_plan = {}, .sign = {}});
    });
    CHECK(said == std::vector<std::string>(2));
    CHECK((saved_adapter(scratch / "two") - alone).norm().item<double>() <= 1e-3 * alone.norm().item<double>());
}

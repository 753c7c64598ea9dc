// A base whose layers are spread over ranks: the same bits as one that each rank holds, whoever computes how much.
#include <ATen/ATen.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <limits>

#include "models/checkpoint/safetensors.hpp"
#include "models/lora/layout.hpp"
#include "models/unit_gradients.hpp"
#include "run/shared_base.hpp"
#include "tests/catch.hpp"
#include "tests/models/random_models.hpp"
#include "tests/run/ranks/teams.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;
namespace test = rldp::models::test;

namespace {

using models::block_type;
using models::weight_matrix;

/// Rows fill blocks of 64.
models::model_config four_layers(const std::string& kind) {
    test::random_source random(5);
    auto out = test::random_config(random, kind);
    out.layers = 4;
    out.heads = out.kv_heads = 2;
    out.head_dim = 32;
    out.width = 64;
    out.inner = 128;
    out.sliding_layers.clear();
    out.sliding_window.reset();
    return out;
}

/// A model in a directory, and what a whole base computes.
struct case_of_model {
    scratch_directory scratch;
    models::model_config config;
    models::weights_reading how;
    models::lora_layout layout;
    at::Tensor adapter;
    models::token_batch batch;

    explicit case_of_model(const std::string& kind, std::optional<block_type> quantize = {})
        : config(four_layers(kind)),
          how{.quantize = quantize, .digest = true},
          layout(models::make_layout(
              config,
              {.rank = 2, .alpha = 4, .dropout = 0, .targets = models::expand_targets(config, {"all-linear"})})) {
        at::manual_seed(7);
        models::save_safetensors(scratch.path() / "model.safetensors", test::random_weights(config));
        adapter = 0.1 * at::randn({layout.dimension});
        test::random_source random(6);
        batch = models::make_batch(test::random_sequences(random, config.vocab, 12));
    }

    models::loaded_weights read_whole() const {
        return models::load_weights(scratch.path(), config, at::kFloat, at::kCPU, how);
    }
    models::loaded_weights read_share(ranks::team& team) const {
        return load_shared(scratch.path(), config, at::kFloat, at::kCPU, how, team);
    }
    std::shared_ptr<const models::causal_lm> model_of(models::loaded_weights read) const {
        return models::causal_lm::from_weights(config, std::move(read.weights));
    }
    at::Tensor gradients(const models::causal_lm& model, models::activations between) const {
        return model.gradients(batch, layout, adapter, {}, between).gradients;
    }
    at::Tensor losses(const models::causal_lm& model) const { return model.losses(batch, &layout, &adapter).nll; }
};

std::int64_t count_held(const models::model_config& config, const models::base_weights& weights) {
    const auto modules = models::list_module_weights(config);
    return std::count_if(modules.begin(), modules.end(), [&](const auto& name) { return weights.holds(name); });
}

}  // namespace

TEST_CASE("each rank holds its layers alone, computes what a whole base does, and may compute as much as it likes") {
    struct kind {
        std::string family;
        std::optional<block_type> quantize;
    };
    for (const auto& [family, quantize] :
         {kind{"llama", {}}, kind{"gpt2", {}}, kind{"llama", block_type::nf4}, kind{"gpt2", block_type::q4_0}}) {
        const case_of_model c(family, quantize);
        const auto whole = c.read_whole();
        const auto model = c.model_of(whole);
        const auto expected = c.gradients(*model, models::activations::kept), nll = c.losses(*model);
        const auto matrices = count_held(c.config, whole.weights);
        for (const std::size_t ranks : {2, 3}) {
            CAPTURE(family, quantize.has_value(), ranks);
            std::vector<std::int64_t> held(ranks);
            std::vector<std::string> digests(ranks);
            std::atomic<int> wrong = 0;
            const auto threw = as_ranks(ranks, [&](const std::shared_ptr<ranks::team>& team) {
                auto read = c.read_share(*team);
                held[team->rank()] = count_held(c.config, read.weights);
                digests[team->rank()] = read.digest;
                {
                    const auto share = c.model_of(std::move(read));
                    // The last rank none at all, as where a step has no unit for it.
                    for (auto left = ranks - 1 - team->rank(); left > 0; --left) {
                        const auto between = left % 2 ? models::activations::kept : models::activations::recomputed;
                        if (!at::equal(c.gradients(*share, between), expected)) ++wrong;
                    }
                    if (team->rank() == 0 && !at::equal(c.losses(*share), nll)) ++wrong;
                    team->leave();
                }
            });
            CHECK(threw == std::vector<std::string>(ranks));
            CHECK(wrong == 0);
            for (std::size_t rank = 0; rank < ranks; ++rank) {
                CHECK(digests[rank] == whole.digest);
                const auto layers =
                    (4 + static_cast<std::int64_t>(ranks - rank) - 1) / static_cast<std::int64_t>(ranks);
                CHECK(held[rank] == matrices / 4 * layers);
            }
        }
    }
}

TEST_CASE("two passes of a rank at once, which borrow each other's layers away, compute the same") {
    const case_of_model c("llama");
    const auto model = c.model_of(c.read_whole());
    const auto expected = c.gradients(*model, models::activations::kept), nll = c.losses(*model);
    std::atomic<int> wrong = 0;
    const auto threw = as_ranks(2, [&](const std::shared_ptr<ranks::team>& team) {
        const auto share = c.model_of(c.read_share(*team));
        const auto beside = std::async(std::launch::async, [&] {
            for (int i = 0; i < 5; ++i)
                if (!at::equal(c.losses(*share), nll)) ++wrong;
        });
        for (int i = 0; i < 3; ++i)
            if (!at::equal(c.gradients(*share, models::activations::kept), expected)) ++wrong;
        beside.wait();
        team->leave();
    });
    CHECK(threw == std::vector<std::string>(2));
    CHECK(wrong == 0);
}

TEST_CASE("a rank that is gone ends the passes of those that borrow from it, then and ever after") {
    const case_of_model c("llama");
    std::promise<void> gone;
    std::vector<std::string> said;
    const auto threw = as_ranks(2, [&](const std::shared_ptr<ranks::team>& team) {
        auto share = c.model_of(c.read_share(*team));
        if (team->rank() == 1) {
            share.reset();
            return gone.set_value();
        }
        gone.get_future().wait();
        for (int i = 0; i < 2; ++i) try {
                c.gradients(*share, models::activations::kept);
                said.emplace_back("nothing");
            } catch (const ranks::peer_error& lost) {
                said.emplace_back(lost.what());
            }
    });
    CHECK(threw == std::vector<std::string>(2));
    REQUIRE(said.size() == 2);
    for (const auto& line : said) {
        CHECK(has(line, "rank 0 of 2: another rank is gone: rank 1 lends no layers any more"));
        CHECK(has(line, "The run can be resumed"));
    }
}

TEST_CASE("more ranks than layers, and ranks with other files, are refused by name") {
    const case_of_model c("llama"), other("llama");
    auto changed = test::random_weights(c.config);
    for (auto& [name, weight] : changed)
        weight = models::safetensors_file(c.scratch.path() / "model.safetensors").tensor(name).clone();
    const auto share_mixed = [&](std::size_t ranks) {
        models::save_safetensors(other.scratch.path() / "model.safetensors", changed);
        return as_ranks(ranks, [&](const std::shared_ptr<ranks::team>& team) {
            (team->rank() == 1 ? other : c).read_share(*team);
        });
    };
    CHECK(share_mixed(2) == std::vector<std::string>(2));
    for (const auto& line : share_mixed(5)) CHECK(has(line, "5 ranks share the 4 layers of "));
    for (const auto layer : {1, 2}) {  // its own, and another's
        auto& up = changed.at("model.layers." + std::to_string(layer) + ".mlp.up_proj.weight");
        const auto kept = up.clone();
        up += 1e-3;
        for (const auto& line : share_mixed(2))
            CHECK(line == "rank 1 has another layer " + std::to_string(layer) +
                              " of the model than rank 0; give every rank the same");
        up = kept;
    }
    changed.at("model.norm.weight")[0] += 1;
    for (const auto& line : share_mixed(2))
        CHECK(line == "rank 1 has another embedding, norm or head of the model than rank 0; give every rank the same");
}

TEST_CASE("a base that is passed through holds no layer, and says what is wrong with one when it comes to it") {
    const case_of_model c("gpt2", block_type::nf4);
    const auto expected = c.gradients(*c.model_of(c.read_whole()), models::activations::kept);
    auto read = load_in_passing(c.scratch.path(), c.config, at::kFloat, at::kCPU, c.how);
    CHECK(count_held(c.config, read.weights) == 0);
    const auto passing = c.model_of(std::move(read));
    CHECK(at::equal(c.gradients(*passing, models::activations::kept), expected));
    auto damaged = test::random_weights(c.config);
    damaged.at("transformer.h.2.mlp.c_fc.weight")[0][0] = std::numeric_limits<float>::quiet_NaN();
    models::save_safetensors(c.scratch.path() / "model.safetensors", damaged);
    const auto model = c.model_of(load_in_passing(c.scratch.path(), c.config, at::kFloat, at::kCPU, {}));
    CHECK(has(refusal([&] { c.gradients(*model, models::activations::kept); }),
              "tensor 'transformer.h.2.mlp.c_fc.weight' holds numbers that are not finite"));
}

TEST_CASE("layers are brought one ahead, up and down, and two are kept for each pass") {
    std::vector<std::int64_t> brought;
    int alive = 0, most = 0;
    std::mutex counting;
    const auto fetch = [&](std::int64_t layer) {
        const std::lock_guard lock(counting);
        brought.push_back(layer);
        most = std::max(most, ++alive);
        const auto counted = std::shared_ptr<float>(new float(static_cast<float>(layer)), [&](const float* number) {
            delete number;
            const std::lock_guard ending(counting);
            --alive;
        });
        auto numbers = at::from_blob(
            counted.get(), {1, 1}, [counted](void*) {}, at::TensorOptions(at::kFloat));
        return std::map<std::string, weight_matrix>{{"w", weight_matrix(std::move(numbers))}};
    };
    {
        layer_cache cache({true, false, false, true, false, false}, fetch);
        const auto visit = [&](std::int64_t layer, models::heading to) {
            cache.come_to(layer, to);
            if (layer == 0 || layer == 3) return;
            CHECK(cache.find(layer, "w").numbers().item<float>() == static_cast<float>(layer));
        };
        {
            const auto pass = cache.begin_pass();
            for (std::int64_t layer = 0; layer < 6; ++layer) visit(layer, models::heading::up);
            for (std::int64_t layer = 5; layer >= 0; --layer) visit(layer, models::heading::down);
        }
        CHECK(brought == std::vector<std::int64_t>{1, 2, 4, 5, 2, 1});
        CHECK(cache.counted().layers == 6);
        for (std::int64_t layer = 0; layer < 6; ++layer) visit(layer, models::heading::around);
        cache.find(1, "w");  // which came while the last was computed
        CHECK(brought == std::vector<std::int64_t>{1, 2, 4, 5, 2, 1, 4, 5, 1});
    }
    CHECK(most == 2);
    CHECK(alive == 0);
}

TEST_CASE("what keeps a layer from coming is said of every layer from then on") {
    layer_cache cache({false, false}, [](std::int64_t layer) -> std::map<std::string, weight_matrix> {
        if (layer == 1) throw error(errc::failed, "the second does not come");
        return {{"w", weight_matrix(at::ones({1, 1}))}};
    });
    cache.come_to(0, models::heading::around);
    CHECK(has(refusal([&] { cache.find(1, "w"); }), "the second does not come"));
    CHECK(has(refusal([&] { cache.find(0, "w"); }), "the second does not come"));
}

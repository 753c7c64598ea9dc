#include <ATen/ATen.h>

#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "models/causal_lm.hpp"
#include "models/research/pretrain.hpp"
#include "tests/models/tokenizer/fixtures.hpp"

//
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::test;

namespace {

models::pretrain_config minuscule() {
    models::pretrain_config config;
    config.vocab = 300, config.width = 16, config.layers = 1, config.heads = 2, config.window = 32;
    config.texts = 60, config.steps = 20, config.batch = 8, config.lr = 1e-2, config.seed = 4;
    return config;
}

double mean(std::vector<double>::const_iterator first, std::size_t n) {
    return std::accumulate(first, first + static_cast<std::ptrdiff_t>(n), 0.0) / static_cast<double>(n);
}

}  // namespace

TEST_CASE("twenty steps of pretraining lower the loss and leave a model that loads") {
    const scratch_directory scratch;
    std::vector<double> losses;
    const auto record = [&](std::int64_t step, double loss) {
        CHECK(step == static_cast<std::int64_t>(losses.size()));
        losses.push_back(loss);
    };
    const auto perplexity = models::pretrain(minuscule(), scratch.path() / "a", record);
    REQUIRE(losses.size() == 20);
    CHECK(losses.front() == Approx(std::log(300.0)).margin(0.2));  // an untrained model knows nothing
    CHECK(mean(losses.end() - 5, 5) < losses.front() - 0.5);
    CHECK(perplexity > 1);
    CHECK(perplexity < 200);

    const auto words = models::tokenizer::load(scratch.path() / "a");
    CHECK(words->size() == 300);
    const auto model = models::causal_lm::load(scratch.path() / "a", at::kFloat, at::kCPU);
    CHECK(model->config().window == 32);
    CHECK(model->parameters() ==
          300 * 16 + 32 * 16 + (4 * 16 + 16 * 48 + 48 + 16 * 16 + 16 + 2 * 16 * 64 + 64 + 16) + 2 * 16);
    const auto loss =
        model->losses(models::make_batch({words->encode("The mayor opened a new bridge.")}), nullptr, nullptr);
    CHECK(loss.nll.item<double>() / static_cast<double>(loss.tokens.item<std::int64_t>()) < std::log(300.0));

    SECTION("the same seed gives the same files") {
        models::pretrain(minuscule(), scratch.path() / "b", [](std::int64_t, double) {});
        for (const auto* name :
             {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"})
            CHECK(read_file(scratch.path() / "a" / name) == read_file(scratch.path() / "b" / name));
    }
}

TEST_CASE("a pretraining that makes no sense is refused") {
    const scratch_directory scratch;
    for (auto harm : std::vector<void (*)(models::pretrain_config&)>{
             [](models::pretrain_config& c) { c.heads = 3; }, [](models::pretrain_config& c) { c.steps = 0; },
             [](models::pretrain_config& c) { c.lr = -1; }, [](models::pretrain_config& c) { c.lr = std::nan(""); },
             [](models::pretrain_config& c) { c.texts = 3; }, [](models::pretrain_config& c) { c.vocab = 10; }}) {
        auto config = minuscule();
        harm(config);
        CHECK_THROWS_AS(models::pretrain(config, scratch.path(), [](std::int64_t, double) {}), error);
    }
    CHECK(std::filesystem::is_empty(scratch.path()));
}

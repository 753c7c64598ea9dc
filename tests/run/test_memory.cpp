// How much memory a run takes, and what is chosen by it.
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/system.hpp"
#include "config/config.hpp"
#include "config/open_keys.hpp"
#include "models/device.hpp"
#include "models/weights.hpp"
#include "run/factories.hpp"
#include "run/first/proposals.hpp"
#include "run/memory.hpp"
#include "run/plan.hpp"
#include "run/resolve.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;

TEST_CASE("adapters go on every linear module where memory allows, and on queries and values alone where it does not") {
    using names = std::vector<std::string>;
    const auto model = models::read_model_config("config/models/llama-3.2-1b");
    const auto chosen = [&](const std::vector<std::string>& set, const models::model_config& of) {
        const auto spec = actors::resolve(config::load("config/published-llama-3.2-1b-eps8.json", set), 6400, of);
        CHECK(actors::choose_layout(spec, of).dimension ==
              actors::choose_layout(
                  config::to_reading_spec(config::load("config/published-llama-3.2-1b-eps8.json", set)), of)
                  .dimension);
        return *spec.lora.targets;
    };
    const std::vector<std::string> open{"lora.targets=null"};
    CHECK(chosen(open, model) == names{"all-linear"});
    CHECK(chosen({"lora.targets=[\"o\"]"}, model) == names{"o"});
    CHECK(chosen({"lora.targets=null", "privacy.semantics=as_published", "privacy.acknowledge_no_guarantee=true"},
                 model) == names{"q", "v"});  // the publication's
    auto larger = model;
    larger.layers = 50'000;
    CHECK(chosen(open, larger) == names{"q", "v"});
}

TEST_CASE("the micro-batch that is chosen fits the machine, and is halved until it does") {
    const auto model = models::read_model_config("config/models/llama-3.2-1b");
    auto spec =
        config::to_reading_spec(config::load("config/published-llama-3.2-1b-eps8.json", {"model.dtype=float32"}));
    const auto layout = actors::choose_layout(spec, model);
    const auto work = [](std::int64_t micro_batch, std::int64_t tokens) {
        return actors::workload{1000, 16, tokens, micro_batch};
    };
    const auto need = [&](std::int64_t micro_batch, std::int64_t tokens) {
        return actors::estimate_memory(spec, model, layout, work(micro_batch, tokens));
    };
    const auto there = memory_there();
    for (const std::int64_t tokens : {64, 256, 1024, 4096, 16384}) {
        CAPTURE(tokens);
        const auto made = actors::choose_micro_batch(spec, model, layout, work(0, tokens));
        const auto chosen = made.count;
        CHECK((chosen == 1 || 4 * need(chosen, tokens).total() <= 3 * there));
        CHECK((chosen == std::max<std::int64_t>(16, models::default_threads()) ||
               4 * need(2 * chosen, tokens).total() > 3 * there));
    }
    CHECK(need(2, 512).passing > need(1, 512).passing);  // of an evaluation
    CHECK(need(1, 512).weights == 4LL * 1'235'814'400);
    spec.model.dtype = precision::bfloat16;
    // A pass holds one unit, and as many are under way as there are threads.
    const auto abreast = std::min<std::int64_t>(16, models::default_threads());
    CHECK(static_cast<double>(need(16, 512).activations) ==
          Approx(static_cast<double>(abreast * need(1, 512).activations)));
    CHECK(need(16, 512).weights == 2LL * 1'235'814'400);
    // What an evaluation holds grows with a record's length, not with its square.
    CHECK(need(1, 8192).passing < 2 * need(1, 4096).passing);
    const auto kept = need(1, 4096).activations;
    spec.model.checkpoint_activations = true;
    CHECK(5 * need(1, 4096).activations < kept);

    // Keys that no query sees have no scores. Attention with a cap keeps them under every LibTorch.
    spec.model.checkpoint_activations = false;
    auto capped = model;
    capped.attention_cap = 50;
    const auto full = actors::estimate_memory(spec, capped, layout, work(1, 4096)).activations;
    capped.sliding_window = 512;
    CHECK(2 * actors::estimate_memory(spec, capped, layout, work(1, 4096)).activations < full);
}

TEST_CASE("memory of a base in blocks: their bytes and a tile for each chunk that is computed, all else as without") {
    const auto model = models::read_model_config("config/models/llama-3.2-1b");
    auto spec =
        config::to_reading_spec(config::load("config/published-llama-3.2-1b-eps8.json", {"model.dtype=float32"}));
    const auto layout = actors::choose_layout(spec, model);
    const auto need = [&](const models::model_config& of) {
        return actors::estimate_memory(spec, of, layout, {1000, 16, 128, 1});
    };
    const auto plain = need(model);
    const auto abreast = actors::choose_lanes(spec, model, 16, 1).abreast;
    const std::int64_t modules = 16LL * (2 * 2048 * 2048 + 2 * 512 * 2048 + 3 * 8192 * 2048), tile = 8 << 20;
    spec.model.quantize = quantization::nf4;
    const auto blocks = need(model);
    CHECK(blocks.weights == plain.weights - 4 * modules + modules / 64 * 33 + abreast * tile);
    CHECK(blocks.total() - blocks.weights == plain.total() - plain.weights);
    spec.model.dtype = precision::bfloat16;  // the tile is there twice, once in float32
    CHECK(need(model).weights == plain.weights / 2 - 2 * modules + modules / 64 * 33 + abreast * tile * 3 / 2);
    spec.model.dtype = precision::float32;
    // A file in blocks tells how many bytes they have.
    spec.model.quantize = quantization::none;
    auto read = model;
    read.in_blocks = {modules, modules / 32 * 20, "q4_1"};
    CHECK(need(read).weights == plain.weights - 4 * modules + modules / 32 * 20 + abreast * tile);
    // Small matrices are one tile.
    const auto demo = config::to_reading_spec(config::load("config/demo.json", {"model.quantize=int8"}));
    const auto tiny = models::read_model_config("config/tiny-gpt2");
    const auto small = actors::estimate_memory(demo, tiny, actors::choose_layout(demo, tiny), {1000, 16, 64, 16});
    CHECK(small.weights == models::count_weight_bytes(tiny, 4, models::block_type::int8) +
                               actors::choose_lanes(demo, tiny, 16, 16).abreast * 4 * tiny.vocab * tiny.width);
}

TEST_CASE("memory of a base that ranks share: what is no layer's, a share, and four layers that are borrowed") {
    const auto model = models::read_model_config("config/models/llama-3.2-1b");
    auto spec = config::to_reading_spec(config::load("config/published-llama-3.2-1b-eps8.json", {"model.shard=true"}));
    const auto layout = actors::choose_layout(spec, model);
    const auto weights = [&](std::int64_t ranks) {
        return actors::estimate_memory(spec, model, layout, {1000, 16, 128, 1, ranks}).weights;
    };
    const std::int64_t of_layer = 2LL * (2 * 2048 * 2048 + 2 * 512 * 2048 + 3 * 8192 * 2048), all = 2LL * 1'235'814'400;
    CHECK(models::count_layer_bytes(model, 2, std::nullopt) == of_layer);
    CHECK(weights(1) == all);
    CHECK(weights(2) == all - 4 * of_layer);  // 8 of 16 are its own
    CHECK(weights(4) == all - 8 * of_layer);
    CHECK(weights(5) == all - 8 * of_layer);  // some have 4 of 16
    CHECK(weights(0) == weights(16));
    CHECK(actors::choose_lanes(spec, model, 64, 64).abreast == 1);

    const auto demo = actors::check(config::load("config/demo.json", {"model.shard=true", "data.path=synthetic:400"}));
    CHECK(demo.least_ranks == 1);

    const auto least = [&](double share_of_weights) {
        auto large = model;  // as many layers more as make the weights so many times this machine's memory
        large.layers = std::llround(share_of_weights * static_cast<double>(actors::find_room(spec).bytes) /
                                    static_cast<double>(of_layer));
        const auto adapters = actors::make_adapters(spec, large, {"q"});
        return actors::find_least_ranks(spec, large, adapters, {1000, 16, 128, 1});
    };
    CHECK(least(0.3) == 1);
    const auto twice = least(2);
    REQUIRE(twice.has_value());
    CHECK(*twice >= 3);
    CHECK(*twice <= 8);
}

TEST_CASE("what a run keeps for each trained number is counted, and tokens that stay in memory") {
    const auto need = [](const std::vector<std::string>& set) {
        auto all = set;
        all.insert(all.end(), {"data.path=synthetic:400", "privacy.population=300", "data.max_tokens=50"});
        return actors::check(config::load("config/demo.json", all));
    };
    const auto plain = need({"method.name=static"});
    const auto of_number = [&](const std::vector<std::string>& set) {
        const auto other = need(set);
        REQUIRE(other.trainable_parameters == plain.trainable_parameters);
        return static_cast<double>(other.memory.adapter - plain.memory.adapter) /
               static_cast<double>(plain.trainable_parameters);
    };
    CHECK(of_number({"method.name=geoclip"}) == Approx(8 * 3 + 32 * 8));
    CHECK(of_number({"method.name=static", "noise.bands=4"}) == Approx(8 * 3));
    CHECK(of_number({"method.name=static", "train.average=tail"}) == Approx(16));
    CHECK(of_number({"method.name=static", "train.optimizer=dog"}) == Approx(8));
    CHECK(actors::count_course_bytes(config::load("config/demo.json", {"rl.state=prepared"})) == 32 + 16);
    CHECK(need({"method.name=static", "data.cache=none"}).memory.records - plain.memory.records ==
          300 * plain.max_records_per_unit * 50 * 4);
}

TEST_CASE("sharing the base is chosen where one process could not hold it, and ranks can") {
    const scratch_directory scratch;
    auto described = nlohmann::json::parse(read_file("config/models/llama-3.2-1b/config.json"));
    const auto chosen = [&](std::int64_t layers, const std::vector<std::string>& set = {}) {
        described["num_hidden_layers"] = layers;
        write_file(scratch / "config.json", described.dump());
        auto all = set;
        all.emplace_back("data.max_tokens=128");
        all.push_back("model.path=" + nlohmann::json(scratch.path().string()).dump());
        const auto plan =
            actors::check(config::load("config/published-llama-3.2-1b-eps8.json", all), {.without_data = true});
        const auto found = std::find_if(plan.choices.begin(), plan.choices.end(),
                                        [](const auto& one) { return one.key == "model.shard"; });
        return found == plan.choices.end() ? std::string() : fmt::format("{} {}", *plan.least_ranks, found->reason);
    };
    CHECK(chosen(16).empty());
    const auto spec =
        config::to_reading_spec(config::load("config/published-llama-3.2-1b-eps8.json", {"data.max_tokens=128"}));
    const auto layers = 2 * actors::find_room(spec).bytes / (2LL * 60'817'408);  // twice what there is
    const auto said = chosen(layers);
    CHECK(has(said, "this machine could not hold the base and leave a quarter of its memory free"));
    CHECK(std::stoi(said) >= 3);
    CHECK(chosen(layers, {"model.shard=false"}).empty());
    const auto model = models::read_model_config(scratch.path());
    CHECK_FALSE(actors::holds_whole_base(spec, model, 1, true));
    // Nothing is timed there, for that would load it.
    const auto large =
        config::load("config/published-llama-3.2-1b-eps8.json",
                     {"data.max_tokens=128", "model.path=" + nlohmann::json(scratch.path().string()).dump()});
    CHECK_FALSE(actors::seconds_per_unit(large, 1000).has_value());
    CHECK_FALSE(actors::estimate_time(large, actors::check(large, {.without_data = true})).has_value());
    const auto small = models::read_model_config("config/models/llama-3.2-1b");
    CHECK(actors::holds_whole_base(spec, small, 1, false));
    // Ranks of one machine have the weights once, and each a program of 190 MiB.
    CHECK_FALSE(actors::holds_whole_base(spec, small, actors::find_room(spec).bytes / (190 << 20), true));
    // What each makes of them in another type it has to itself: 2.3 GiB of weights each.
    const auto half = actors::find_room(spec).bytes / (4LL << 30);
    CHECK(actors::holds_whole_base(spec, small, half, true));
    CHECK_FALSE(actors::holds_whole_base(spec, small, half + half, false));
}

TEST_CASE("a run that is larger than the machine is warned of, with what would fit") {
    const auto said = [](const std::vector<std::string>& set) {
        const auto warnings =
            actors::check(config::load("config/published-llama-3.2-1b-eps8.json", set), {.without_data = true})
                .warnings;
        const auto found =
            std::find_if(warnings.begin(), warnings.end(), [](const auto& one) { return one.starts_with("memory: "); });
        return found == warnings.end() ? std::string() : *found;
    };
    CHECK(said({"train.micro_batch=1", "data.max_tokens=64"}).empty());
    CHECK(has(said({"model.dtype=float32", "train.micro_batch=4096", "data.max_tokens=512"}), "train.micro_batch "));
    CHECK(has(said({"model.dtype=float32", "train.micro_batch=1", "data.max_tokens=131072"}),
              "model.checkpoint_activations"));
    CHECK(has(
        refusal([&] {
            said({"privacy.pad_batches=true", "model.dtype=float32", "train.micro_batch=4096", "data.max_tokens=512"});
        }),
        "privacy.pad_batches: a run takes about "));
}

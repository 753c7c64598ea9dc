// Every preset in config/ loads; the published ones carry the published hyper-parameters.
#include <filesystem>
#include <map>
#include <set>

#include "config/config.hpp"

#include "tests/catch.hpp"

using namespace rldp;

TEST_CASE("the demo and the preset for real data load") {
    const auto demo = config::load("config/demo.json", {});
    CHECK(demo.data.path == "synthetic:6000");
    CHECK(demo.model.path == (std::filesystem::current_path() / "config/tiny-gpt2").string());
    CHECK(config::load("config/demo.json", {"train.steps=24"}).train.steps == 24);
    const auto real = config::load("config/diabetes-stories260k.json", {"train.epochs=1"});
    CHECK(real.data.keep == kept_end::tail);
    CHECK(real.data.max_tokens == 512);
    CHECK(real.train.epochs == 1.0);
}

TEST_CASE("no preset is broken") {
    for (const auto& entry : std::filesystem::directory_iterator("config")) {
        const auto name = entry.path().filename().string();
        if (entry.path().extension() != ".json" || name.starts_with("narrative-") || name == "config.schema.json")
            continue;
        INFO(name);
        CHECK_NOTHROW(config::load(entry.path(), {}));
    }
}

TEST_CASE("published hyper-parameters by model and epsilon") {
    const std::map<std::string, std::int64_t> batch = {{"0.5", 4}, {"2", 16}, {"4", 8}, {"5", 4}, {"8", 8}};  // B_SAC
    for (const std::string model : {"gpt2", "llama-3.2-1b", "llama-3.2-3b", "mistral-7b"}) {
        for (const auto& [epsilon, transitions] : batch) {
            const auto file = "config/published-" + model + "-eps" + epsilon + ".json";
            INFO(file);
            const auto c = config::load(file, {});
            CHECK(c.privacy.epsilon == std::stod(epsilon));
            CHECK(c.privacy.delta == 1e-5);
            CHECK(c.rl.batch == transitions);
            CHECK(c.rl.interval == (model == "mistral-7b" ? 96 : 112));
            CHECK(c.rl.updates == 2);
            CHECK(c.rl.warmup == 50);
            CHECK(c.train.expected_batch_size == 16);
            CHECK(c.train.lr == 5e-4);
            CHECK(c.train.warmup == 100);
            CHECK(c.train.schedule == rate_shape::constant);
            CHECK(c.train.value_weight == 1);
            CHECK(c.train.eval_every == 48);
            CHECK(c.lora.rank == 8);
            CHECK(c.lora.alpha == 16);
            CHECK(c.lora.dropout == 0.05);
            CHECK(c.clip.initial == 0.1);
            CHECK(c.data.canaries == 10);
            CHECK(c.data.split == split_kind::exact);
            CHECK(c.model.path.ends_with("config/models/" + model));
            CHECK(config::planned_steps(c, 73271) == 13738);
        }
    }
}

// What `rldp check` says of the presets, and what it refuses.
#include <algorithm>
#include <filesystem>
#include <map>

#include "actors/run/plan.hpp"
#include "config/base/error.hpp"
#include "config/config.hpp"
#include "tests/catch.hpp"

using namespace rldp;

TEST_CASE("every published preset passes check without its data or weights, within its budget") {
    const std::map<std::string, std::size_t> adapters = {
        {"gpt2", 24}, {"llama-3.2-1b", 32}, {"llama-3.2-3b", 56}, {"mistral-7b", 64}};
    std::size_t seen = 0;
    for (const auto& file : std::filesystem::directory_iterator("config")) {
        const auto name = file.path().stem().string();
        if (!name.starts_with("published-")) continue;
        INFO(name);
        const auto config = config::load(file.path(), {});
        const auto plan = actors::check(config);
        CHECK(plan.steps == 13738);  // floor(3·73,271/16)
        CHECK(plan.guaranteed_epsilon <= config.privacy.epsilon);
        CHECK(plan.guaranteed_epsilon > config.privacy.epsilon - 1e-3);
        const auto model = std::find_if(adapters.begin(), adapters.end(), [&](const auto& known) {
            return name.starts_with("published-" + known.first + "-");
        });
        REQUIRE(model != adapters.end());
        CHECK(plan.groups.size() == model->second);
        ++seen;
    }
    CHECK(seen == 20);
}

TEST_CASE("check refuses in one line what can't be run") {
    const auto refusal = [](std::vector<std::string> set) -> std::string {
        try {
            actors::check(config::load("config/demo.json", set));
        } catch (const error& e) {
            CHECK(e.code() == errc::bad_input);
            CHECK(std::string(e.what()).find('\n') == std::string::npos);
            return e.what();
        }
        return "";
    };
    CHECK(refusal({"data.path=/nowhere/table.csv"}).find("/nowhere/table.csv") != std::string::npos);
    CHECK(refusal({"model.path=/nowhere"}).find("/nowhere/config.json") != std::string::npos);
    CHECK(refusal({"train.expected_batch_size=100000"}).find("can't exceed 1") != std::string::npos);
    CHECK(refusal({"privacy.delta=1"}).find("privacy.delta") != std::string::npos);
    CHECK(refusal({"data.max_tokens=100000"}).find("window") != std::string::npos);
    CHECK(refusal({R"(lora.targets=["nonsense"])"}).find("nonsense") != std::string::npos);
    CHECK(refusal({"data.path=synthetic:1"}).find("synthetic:1") != std::string::npos);
}

TEST_CASE("a δ of 1/N or more is warned of") {
    const auto plan = actors::check(config::load(
        "config/demo.json", {"data.path=synthetic:400", "privacy.delta=0.01", "train.expected_batch_size=8"}));
    CHECK(std::any_of(plan.warnings.begin(), plan.warnings.end(),
                      [](const auto& line) { return line.starts_with("privacy.delta"); }));
}

// The reference in docs/ is the schema's.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "config/config.hpp"
#include "tests/catch.hpp"

TEST_CASE("config/config.schema.json is what `rldp reference --json-schema` prints, and every preset names it") {
    CHECK(rldp::read_file("config/config.schema.json") == rldp::config::reference_json_schema());
    int presets = 0;
    for (const auto& entry : std::filesystem::directory_iterator("config")) {
        const auto name = entry.path().filename().string();
        if (entry.path().extension() != ".json" || name == "config.schema.json" || name.starts_with("narrative-"))
            continue;
        INFO(name);
        CHECK(nlohmann::json::parse(rldp::read_file(entry.path())).at("$schema") == "config.schema.json");
        ++presets;
    }
    CHECK(presets > 20);
}

TEST_CASE("a JSON Schema says of a value what reading it says") {
    using nlohmann::json;
    const auto schema = json::parse(rldp::config::reference_json_schema());
    const auto at = [&](const char* section, const char* name) {
        return schema["properties"][section]["properties"][name];
    };
    CHECK(at("privacy", "delta")["exclusiveMinimum"] == 0);
    CHECK(at("privacy", "delta")["exclusiveMaximum"] == 1);
    CHECK(at("train", "expected_batch_size")["anyOf"][0]["type"] == "integer");
    CHECK(at("lora", "rank")["type"] == "integer");
    CHECK(at("noise", "policy")["anyOf"][0]["enum"] == json({"fixed", "deck", "filter"}));
    CHECK(at("noise", "policy")["anyOf"][1]["type"] == "null");
    CHECK(at("noise", "deck")["properties"]["levels"]["maximum"] == 256);
    CHECK(at("privacy", "pad_batches")["default"] == false);
    CHECK(at("noise", "deck")["additionalProperties"] == false);
}

TEST_CASE("docs/configuration.md ends with the reference of every key, as `rldp reference` prints it") {
    const auto document = rldp::read_file("docs/configuration.md");
    const auto reference = rldp::config::reference_markdown();
    const auto at = document.find(reference);
    REQUIRE(at != std::string::npos);
    CHECK(document.starts_with("# Configuration\n"));  // what a generated page in its place would lack
    CHECK(at + reference.size() == document.size());
}

// The table and what follows from it.
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "config/schema.hpp"
#include "tests/support/refusal.hpp"

#include "tests/catch.hpp"

using namespace rldp;

TEST_CASE("every key has a path of its own, an expectation and a sentence") {
    std::set<std::string> paths;
    for (const auto& key : config::schema()) {
        INFO(key.path);
        CHECK(paths.insert(key.path).second);
        CHECK_FALSE(key.expectation.empty());
        CHECK(key.sentence.back() == '.');
        CHECK(config::find_key(key.path) == &key);
        CHECK(config::nearest(key.path) == key.path);
    }
    CHECK(config::is_section("noise.deck"));
    CHECK_FALSE(config::is_section("noise.policy"));
    CHECK_FALSE(config::is_section(""));
}

TEST_CASE("what trials may differ in leaves price and records as they are") {
    std::set<std::string> sections;
    for (const auto& key : config::schema())
        if (key.tunable) sections.insert(key.path.substr(0, key.path.find('.')));
    CHECK(sections == std::set<std::string>{"clip", "lora", "method", "noise", "public", "rl", "train"});
    for (const char* priced : {"privacy.epsilon",
                               "privacy.delta",
                               "privacy.population",
                               "privacy.runs",
                               "privacy.risk.tpr",
                               "privacy.unit",
                               "noise.policy",
                               "noise.bands",
                               "noise.deck.levels",
                               "noise.deck.ratio",
                               "train.steps",
                               "train.epochs",
                               "train.expected_batch_size",
                               "train.eval_records",
                               "rl.interval",
                               "eval.looks",
                               "eval.clip",
                               "eval.publish",
                               "data.path",
                               "data.split_seed",
                               "data.max_tokens",
                               "data.template",
                               "seed",
                               "model.path"})
        CHECK_FALSE(config::find_key(priced)->tunable);
    for (const char* free : {"train.lr", "train.schedule", "clip.max", "lora.targets", "train.average", "method.name"})
        CHECK(config::find_key(free)->tunable);
}

TEST_CASE("the schema has the keys of the contract, and no others") {
    const std::set<std::string> contract = {"privacy.epsilon",
                                            "privacy.delta",
                                            "privacy.accountant",
                                            "privacy.risk.fpr",
                                            "privacy.risk.tpr",
                                            "privacy.semantics",
                                            "privacy.unit",
                                            "privacy.population",
                                            "privacy.max_records_per_unit",
                                            "privacy.pad_batches",
                                            "privacy.acknowledge_no_guarantee",
                                            "privacy.accept_large_delta",
                                            "privacy.book",
                                            "privacy.runs",
                                            "noise.policy",
                                            "noise.allocation",
                                            "noise.statistics_share",
                                            "noise.bands",
                                            "noise.deck.levels",
                                            "noise.deck.ratio",
                                            "noise.insecure_reproducible",
                                            "clip.groups",
                                            "clip.initial",
                                            "clip.min",
                                            "clip.max",
                                            "public.path",
                                            "public.use",
                                            "public.steps",
                                            "public.lr",
                                            "method.name",
                                            "method.quantile",
                                            "method.query_noise",
                                            "method.stabiliser",
                                            "method.rank",
                                            "train.epochs",
                                            "train.steps",
                                            "train.expected_batch_size",
                                            "train.micro_batch",
                                            "train.parameters",
                                            "train.optimizer",
                                            "train.lr",
                                            "train.warmup",
                                            "train.schedule",
                                            "train.final_lr",
                                            "train.decay",
                                            "train.average",
                                            "train.average_window",
                                            "train.value_weight",
                                            "train.eval_every",
                                            "train.eval_records",
                                            "data.path",
                                            "data.ids_mapping",
                                            "data.template",
                                            "data.chat",
                                            "data.max_tokens",
                                            "data.keep",
                                            "data.canaries",
                                            "data.canary_length",
                                            "data.split",
                                            "data.split_seed",
                                            "data.cache",
                                            "model.path",
                                            "model.checkpoint_activations",
                                            "model.dtype",
                                            "model.name",
                                            "model.quantize",
                                            "model.shard",
                                            "lora.rank",
                                            "lora.alpha",
                                            "lora.dropout",
                                            "lora.targets",
                                            "eval.target",
                                            "eval.classes",
                                            "eval.publish",
                                            "eval.looks",
                                            "eval.clip",
                                            "rl.state",
                                            "rl.controller",
                                            "rl.actions",
                                            "rl.policy",
                                            "rl.online",
                                            "rl.radius_scale",
                                            "rl.rescale",
                                            "rl.interval",
                                            "rl.warmup",
                                            "rl.signer",
                                            "rl.batch",
                                            "rl.updates",
                                            "rl.gamma",
                                            "rl.alpha",
                                            "rl.tau",
                                            "rl.actor_lr",
                                            "rl.critic_lr",
                                            "rl.replay",
                                            "rl.reward_floor",
                                            "rl.clip_action",
                                            "audit.canaries",
                                            "audit.gradient_canaries",
                                            "audit.look_canaries",
                                            "audit.guesses",
                                            "audit.confidence",
                                            "audit.targets",
                                            "audit.ending",
                                            "audit.prompt",
                                            "audit.trials",
                                            "audit.references",
                                            "audit.shadow",
                                            "device",
                                            "seed",
                                            "monitor.address",
                                            "monitor.http",
                                            "monitor.tls_certificate",
                                            "monitor.tls_key",
                                            "monitor.client_ca",
                                            "monitor.token_file",
                                            "monitor.allow_hosts",
                                            "monitor.tensorboard",
                                            "run.name",
                                            "run.tags",
                                            "run.notes",
                                            "run.date",
                                            "cluster.secret",
                                            "cluster.timeout"};
    std::set<std::string> schema;
    for (const auto& key : config::schema()) schema.insert(key.path);
    CHECK(schema == contract);
}

TEST_CASE("a key with one letter wrong is put right") {
    std::mt19937 random(1);
    for (const auto& key : config::schema()) {
        auto wrong = key.path;
        wrong.insert(random() % (wrong.size() + 1), 1, '_');
        INFO(wrong);
        CHECK(config::nearest(wrong) == key.path);
    }
}

TEST_CASE("a written configuration has every key and reads back as itself") {
    const auto text = config::to_json(config::parse(
        R"({"privacy": {"unit": {"group": "p"}, "delta": 1e-7}, "train": {"lr": 0.1}, "data": {"template": "t.json"},
            "rl": {"actions": ["lr"]}, "monitor": {"address": "[::1]:1"}, "seed": 123456789012345678})",
        "f", "/"));
    CHECK(config::to_json(config::parse(text, "g", "/elsewhere")) == text);
    const auto document = nlohmann::json::parse(text);
    for (const auto& key : config::schema()) {
        auto pointer = "/" + key.path;
        for (auto& c : pointer) c = c == '.' ? '/' : c;
        INFO(pointer);
        CHECK(document.contains(nlohmann::json::json_pointer(pointer)));
    }
    CHECK(document["train"]["epochs"] == 3.0);
    CHECK(document["data"]["template"] == "/t.json");
    CHECK(document["seed"] == 123456789012345678);

    auto changed = config::parse(text, "g", "/");
    changed.rl.tau = 0.5;
    CHECK(config::to_json(changed) != text);
}

TEST_CASE("a static run reads back as itself") {
    const auto text = config::to_json(config::parse(R"({"method": {"name": "static"}})", "f", "/"));
    CHECK(config::to_json(config::parse(text, "g", "/")) == text);
}

TEST_CASE("the reference has a row per key") {
    const auto text = config::reference_markdown();
    for (const auto& key : config::schema()) CHECK(text.find("| `" + key.path + "` |") != std::string::npos);
    CHECK(text.find("### privacy\n") == 0);
    CHECK(text.find("| `privacy.epsilon` | `8.0` |  | a number in (0, ∞) |") != std::string::npos);
    CHECK(text.find("| `train.epochs` | 3 where steps is absent | epochs |") != std::string::npos);
    CHECK(text.find("| `model.path` | required |") != std::string::npos);
}

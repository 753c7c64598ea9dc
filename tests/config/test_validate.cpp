// Checks that concern several keys, and configurations that no file was read for.
#include <limits>

#include "config/config.hpp"
#include "config/methods.hpp"
#include "tests/config/parsed.hpp"
#include "tests/support/refusal.hpp"

#include "tests/catch.hpp"

using namespace rldp;

TEST_CASE("as_published needs an acknowledgement, gdp_clt needs as_published") {
    CHECK(has(refused(R"({"privacy": {"semantics": "as_published"}})"), "privacy.acknowledge_no_guarantee"));
    CHECK(refused(R"({"privacy": {"semantics": "as_published", "acknowledge_no_guarantee": true}})").empty());
    CHECK(has(refused(R"({"privacy": {"accountant": "gdp_clt"}})"), "privacy.accountant"));
    CHECK(refused(R"({"privacy": {"semantics": "as_published", "acknowledge_no_guarantee": true,
                                  "accountant": "gdp_clt"}})")
              .empty());
}

TEST_CASE("the sampling rate can't exceed 1") {
    const std::string sixteen = R"("train": {"expected_batch_size": 16}})";
    CHECK(has(refused(R"({"privacy": {"population": 15}, )" + sixteen), "train.expected_batch_size is 16"));
    const auto with_batch_size = [](const char* size) {
        return R"({"train": {"expected_batch_size": )" + std::string(size) + "}}";
    };
    CHECK(has(refused(with_batch_size("8388609")), "train.expected_batch_size"));
    CHECK(refused(with_batch_size("8388608")).empty());
    CHECK(refused(R"({"privacy": {"population": 16}, )" + sixteen).empty());
    CHECK(refused(R"({"privacy": {"population": 15}})").empty());  // the batch is still open
}

TEST_CASE("the first radius lies between the bounds") {
    CHECK(has(refused(R"({"clip": {"min": 0.2}})"), "clip.initial"));
    CHECK(has(refused(R"({"clip": {"max": 0.05}})"), "clip.initial"));
    CHECK(refused(R"({"clip": {"min": 0.1, "max": 0.1}})").empty());
}

TEST_CASE("the method and what it needs") {
    CHECK(has(refused(R"({"method": {"name": "static"}, "noise": {"policy": "deck"}})"), "noise.policy"));
    CHECK(has(refused(R"({"method": {"name": "psac"}, "noise": {"allocation": "shares"}})"), "noise.allocation"));
    CHECK(has(refused(R"({"method": {"name": "auto_s"}, "public": {"path": "synthetic:9", "use": ["radii"]}})"),
              "public.use"));
    CHECK(has(refused(R"({"method": {"name": "geoclip"}, "clip": {"groups": "adapters"}})"), "clip.groups"));
    CHECK(has(refused(R"({"method": {"name": "dp_lora"}, "clip": {"groups": "flat"}})"), "clip.groups"));
    CHECK(refused(R"({"method": {"name": "static"}, "clip": {"groups": "adapters"}})").empty());
    CHECK(has(refused(R"({"method": {"name": "static"}, "noise": {"statistics_share": 0.02}})"),
              "noise.statistics_share"));
    CHECK(has(refused(R"({"rl": {"state": "published"}, "noise": {"statistics_share": 0}})"), "method.name static"));
    CHECK(has(refused(R"({"rl": {"actions": ["radii", "shares"]}})"), "set noise.allocation to \"shares\""));
    CHECK(refused(R"({"rl": {"actions": ["shares"]}, "noise": {"allocation": "shares"}})").empty());
    CHECK(has(refused(R"({"rl": {"batch": 8, "replay": 7}})"), "rl.replay"));
}

TEST_CASE("a prepared controller goes with what it was prepared on, and leaves nothing to the learner") {
    const auto with = [](const std::string& rl, const std::string& rest = "") {
        return refused(R"({"rl": {"state": "prepared", "controller": "p.safetensors")" + rl +
                       R"(}, "noise": {"allocation": "shares"})" + rest + "}");
    };
    CHECK(with("").empty());
    for (const std::string control : {"shuffled", "deaf"}) {
        CHECK(has(refused(R"({"rl": {"state": "published", "policy": ")" + control + "\"}}"),
                  "rl.policy \"" + control + "\" is a control of prepared policies"));
        CHECK(with(R"(, "policy": ")" + control + "\"").empty());
    }
    CHECK(refused(R"({"rl": {"state": "prepared"}})").empty());  // the one that ships
    CHECK(refused(R"({"rl": {"controller": "p.safetensors"}})").empty());
    CHECK(has(refused(R"({"rl": {"state": "published", "controller": "p.safetensors"}})"), "rl.state \"prepared\""));
    CHECK(has(refused(R"({"rl": {"signer": "o.pub"}})"), "rl.signer"));
    CHECK(has(refused(R"({"rl": {"state": "prepared"}, "noise": {"allocation": "uniform"}})"), "give \"shares\""));
    CHECK(has(refused(R"({"rl": {"state": "prepared", "controller": "p"}, "noise": {"policy": "deck"}})"),
              "noise.policy"));
    CHECK(has(with(R"(, "actions": ["noise"])"), "rl.actions"));
    CHECK(has(with(R"(, "gamma": 0.5)"), "rl.gamma"));
    CHECK(has(with("", R"(, "train": {"schedule": "cosine"})"), "train.schedule"));
    CHECK(has(with("", R"(, "train": {"average": "ema"})"), "train.average"));
    CHECK(has(with("", R"(, "train": {"warmup": 3})"), "train.warmup"));
    CHECK(has(with("", R"(, "train": {"final_lr": 0.001})"), "train.final_lr"));
    CHECK(has(with("", R"(, "privacy": {"semantics": "as_published", "acknowledge_no_guarantee": true})"),
              "as_published"));
    CHECK(has(refused(R"({"method": {"name": "static"}, "rl": {"state": "prepared"}})"), "method static"));
    CHECK(refused(R"({"rl": {"state": "schedule"}, "train": {"average": "ema"}, "noise": {"bands": 2}})").empty());
    for (const std::string key : {R"("policy": "random")", R"("signer": "k.pub")", R"("rescale": true)",
                                  R"("radius_scale": 1)", R"("actions": ["radii"])"})
        CHECK(has(refused(R"({"rl": {"state": "schedule", )" + key + "}}"), "rl.state \"schedule\" has none"));
    CHECK(has(refused(R"({"rl": {"state": "schedule", "controller": "p"}})"), "rl.controller and rl.online"));
    CHECK(has(refused(R"({"rl": {"state": "schedule"}, "noise": {"policy": "deck"}})"), "has no controller to choose"));
    CHECK(has(refused(R"({"rl": {"state": "schedule"}, "privacy": {"semantics": "as_published",
                          "acknowledge_no_guarantee": true}})"),
              "no part of as_published"));
    const std::string records = R"(, "public": {"path": "p.csv"})";
    CHECK(with(R"(, "online": true)", records).empty());
    CHECK(has(with(R"(, "online": true)"), "public.path"));
    CHECK(has(with(R"(, "online": true, "policy": "frozen")", records), "learns nothing"));
    CHECK(has(refused(R"({"rl": {"state": "published", "online": true})" + records + "}"), "rl.state \"prepared\""));
    CHECK(has(refused(R"({"method": {"name": "static"}, "rl": {"online": true})" + records + "}"), "method static"));
    const auto config =
        parsed(R"({"rl": {"state": "prepared", "controller": "p"}, "noise": {"allocation": "shares"}})");
    CHECK(config::resolve_choices(config).policy == policy_kind::fixed);
}

TEST_CASE("an optimizer beside AdamW goes without a controller, and one that finds its rate without a rate") {
    const auto with = [](const std::string& name, const std::string& train = "", const std::string& rest = "") {
        return refused(R"({"train": {"optimizer": ")" + name + "\"" + train + "}" + rest + "}");
    };
    for (const auto& name : all_names<optimizer_kind>()) {
        CAPTURE(name);
        CHECK(with(name).empty());
        const bool plain = name == "adamw", told = plain || name == "hypergradient";
        CHECK(has(with(name, R"(, "lr": 0.01)"), "leave it out (null)") != told);
        CHECK(has(with(name, R"(, "schedule": "linear", "final_lr": 0.001)"), "train.final_lr") != told);
        CHECK(has(with(name, "", R"(, "rl": {"state": "published"})"), "steers AdamW alone") != plain);
        CHECK(has(with(name, "", R"(, "rl": {"state": "prepared"})"), "steers AdamW alone") != plain);
        CHECK(has(with(name, "", R"(, "rl": {"controller": "p"})"), "rl.controller and rl.online") != plain);
        CHECK(has(with(name, "", R"(, "method": {"name": "hyfreedp"})"), "sets AdamW's rate itself") != plain);
        CHECK(has(with(name, "", R"(, "method": {"name": "dp_adambc"})"), "is an AdamW of its own") != plain);
        CHECK(has(with(name, "", R"(, "rl": {"state": "schedule"}, "noise": {"bands": 4})"), "noise.bands") ==
              (!plain && name != "dog"));
        CHECK(has(with(name, "", R"(, "privacy": {"semantics": "as_published", "acknowledge_no_guarantee": true})"),
                  "reproduces AdamW") != plain);
        CHECK(with(name, "", R"(, "method": {"name": "static"}, "rl": {"interval": 8, "warmup": 8})").empty());
    }
    CHECK(has(refused(R"({"train": {"parameters": ["bias"]}})"), "train.lr is open"));
    CHECK(refused(R"({"train": {"parameters": ["bias"], "optimizer": "dog"}})").empty());
    CHECK(has(refused(R"({"train": {"optimizer": "sgd"}})"), "train.optimizer"));
}

TEST_CASE("what could do nothing is refused, and what it depends on is named") {
    const auto says = [](const std::string& json, const std::string& part) {
        INFO(json);
        CHECK(has(refused(json), part));
    };
    says(R"({"train": {"schedule": "constant", "final_lr": 0.001}})", "train.final_lr");
    says(R"({"train": {"schedule": "cosine", "final_lr": 1.5, "lr": 1}})", "above train.lr");
    says(R"({"train": {"schedule": "cosine", "decay": 10}})", "train.schedule \"wsd\"");
    says(R"({"train": {"average_window": 0.3}})", "train.average is \"none\"");
    says(R"({"train": {"value_weight": 2}})", "data.template");
    says(R"({"method": {"name": "hyfreedp"}, "train": {"schedule": "cosine"}})", "hyfreedp sets the rate");
    says(R"({"method": {"name": "hyfreedp"}, "noise": {"statistics_share": 0}})", "give 0.1");
    says(R"({"public": {"steps": 50}})", "there is no public.path");
    says(R"({"public": {"path": "synthetic:9", "use": ["choose"]}, "rl": {"state": "published"}})",
         "train.average is \"none\"; give one");
    says(R"({"eval": {"target": "outcome"}})", "there is no data.template");
    says(R"({"lora": {"freeze_a": true}})", "lora.freeze_a is no longer there");
    says(R"({"lora": {"b_lr_ratio": 4}})", "lora.b_lr_ratio is no longer there");
    says(R"({"public": {"path": "synthetic:9", "use": ["subspace"]}})", "public.use");
    for (const auto* fine :
         {R"({"train": {"schedule": "wsd", "decay": 10, "final_lr": 0.0001}})",
          R"({"train": {"average": "tail", "average_window": 0.3}})",
          // As a run of 0.1.0 left them.
          R"({"lora": {"freeze_a": false, "b_lr_ratio": 1.0}, "public": {"path": "synthetic:9", "directions": 4}})",
          R"({"public": {"path": "synthetic:9", "use": ["choose"]}, "train": {"average": "ema"}})"}) {
        INFO(fine);
        CHECK(refused(fine).empty());
    }
}

TEST_CASE("a key of another method is refused") {
    CHECK(has(refused(R"({"method": {"quantile": 0.5}})"), "method.quantile has no meaning for method rldp"));
    CHECK(has(refused(R"({"method": {"name": "dcsgd_e", "quantile": 0.5}})"), "autoclip_quantile and dcsgd_p"));
    CHECK(has(refused(R"({"method": {"name": "static", "query_noise": 3}})"), "method.query_noise"));
    CHECK(has(refused(R"({"method": {"name": "adaclip", "rank": 3}})"), "method.rank"));
    CHECK(has(refused(R"({"method": {"name": "adaclip", "stabiliser": 3}})"), "method.stabiliser"));
    CHECK(refused(R"({"method": {"name": "geoclip", "rank": 0}})").empty());
    CHECK(refused(R"({"method": {"name": "psac", "stabiliser": 0.1}})").empty());
    CHECK(refused(R"({"method": {"name": "static", "quantile": null}})").empty());
}

TEST_CASE("what keys left alone mean depends on the method") {
    const auto choices = [](const std::string& method) {
        return config::resolve_choices(config::parse(
            R"({"train": {"expected_batch_size": 16}, "method": {"name": ")" + method + "\"}}", "f", "/"));
    };
    const auto ours = choices("rldp");
    CHECK((ours.prepared && ours.policy == policy_kind::fixed && ours.allocation == allocation::shares));
    const auto published = config::resolve_choices(parsed(R"({"rl": {"state": "published"}})"));
    CHECK((published.policy == policy_kind::deck && published.allocation == allocation::proportional &&
           !published.prepared));
    CHECK((ours.groups == clip_grouping::adapters && ours.statistics_share == 0.02));
    CHECK(ours.initial_radius == 0.1);
    const auto flat = choices("static");
    CHECK((flat.policy == policy_kind::fixed && flat.groups == clip_grouping::flat && flat.statistics_share == 0));
    CHECK((flat.initial_radius == 0.1 && choices("psac").initial_radius == 1));
    CHECK(choices("dp_lora_literal").groups == clip_grouping::factors);
    const auto autoclip = choices("autoclip_quantile");
    CHECK((autoclip.initial_radius == 0.1 && autoclip.quantile == 0.5));
    CHECK(autoclip.query_noise == 0.8);  // 16/20
    CHECK((ours.schedule == rate_shape::linear && choices("hyfreedp").schedule == rate_shape::constant));
    CHECK(ours.value_weight == 1);
    CHECK(config::resolve_choices(parsed(R"({"data": {"template": "t"}, "public": {"path": "synthetic:9"}})"))
              .value_weight == 3);
    CHECK((choices("dcsgd_p").quantile == 0.3 && choices("dcsgd_p").query_noise == 6));
}

TEST_CASE("tf32 needs a CUDA device") {
    CHECK(has(refused(R"({"model": {"dtype": "tf32"}})"), "model.dtype"));
    CHECK(has(refused(R"({"model": {"quantize": "q4_k"}})"), "model.quantize"));
    CHECK(has(refused(R"({"model": {"quantize": "nf4"}, "device": "cuda"})"), "on the processor alone"));
    CHECK(refused(R"({"model": {"dtype": "tf32"}, "device": "cuda"})").empty());
    CHECK(refused(R"({"model": {"dtype": "tf32"}, "device": "cuda:1"})").empty());
}

TEST_CASE("a device is cpu, cuda or cuda with a number") {
    for (const std::string good : {"cpu", "cuda", "cuda:0", "cuda:12"})
        CHECK(refused(R"({"device": ")" + good + R"("})").empty());
    for (const std::string bad : {"", "gpu", "cpu:0", "cuda:", "cuda:x", "cuda:-1", "cuda:1000", "cuda: 1", "CUDA"})
        CHECK(has(refused(R"({"device": ")" + bad + R"("})"), "cpu, cuda or cuda:N"));
}

TEST_CASE("validate checks the range of every member, NaN and infinity included") {
    config::run_config good;
    CHECK(refusal([&] { config::validate(good); }).empty());
    good.method.name = "static";
    CHECK(refusal([&] { config::validate(good); }).empty());

    const auto bad = [](auto change) {
        config::run_config c;
        change(c);
        return refusal([&] { config::validate(c); });
    };
    using limits = std::numeric_limits<double>;
    CHECK(has(bad([](auto& c) { c.privacy.epsilon = limits::infinity(); }), "privacy.epsilon"));
    CHECK(has(bad([](auto& c) { c.privacy.epsilon = limits::quiet_NaN(); }), "privacy.epsilon"));
    CHECK(has(bad([](auto& c) { c.clip.max = limits::quiet_NaN(); }), "clip.max"));
    CHECK(has(bad([](auto& c) { c.noise.policy = policy_kind::published; }), "noise.policy"));
    CHECK(has(bad([](auto& c) { c.train.micro_batch = 0; }), "train.micro_batch"));
    CHECK(has(bad([](auto& c) { c.train.steps = 1, c.train.epochs = 1; }), "train.steps"));
}

TEST_CASE("train.parameters excludes what is of adapters alone") {
    const auto whole = [](const std::string& more, const std::string& train = R"("lr": 0.001)") {
        return refused(R"({"train": {"parameters": ["bias"], )" + train + "}" + more + "}");
    };
    CHECK(whole("").empty());
    CHECK(has(whole(R"(, "lora": {"rank": 4})"), "the keys of lora are of adapters"));
    CHECK(has(whole(R"(, "lora": {"targets": ["o"]})"), "the keys of lora are of adapters"));
    CHECK(has(whole("", R"("steps": 8)"), "train.lr is open"));
    CHECK(has(whole(R"(, "model": {"dtype": "bfloat16"})"), "model.dtype is \"bfloat16\""));
    CHECK(has(whole(R"(, "model": {"quantize": "int8"})"), "whose numbers no gradient moves"));
    CHECK(has(whole(R"(, "model": {"checkpoint_activations": true})"), "model.checkpoint_activations"));
    CHECK(has(whole(R"(, "model": {"shard": true})"), "model.shard"));
    CHECK(has(whole(R"(, "privacy": {"semantics": "as_published", "acknowledge_no_guarantee": true})"),
              "leave train.parameters out"));
    CHECK(has(whole(R"(, "method": {"name": "geoclip"})"), "method.name is geoclip"));
    CHECK(whole(R"(, "method": {"name": "auto_s"})").empty());
    CHECK(has(whole(R"(, "method": {"name": "static"}, "clip": {"groups": "factors"})"), "clip.groups \"factors\""));
    CHECK(has(whole(R"(, "public": {"path": "synthetic:9"})"), "public.path teaches adapters"));
    CHECK(has(whole(R"(, "audit": {"gradient_canaries": 4})"), "audit.gradient_canaries"));
}

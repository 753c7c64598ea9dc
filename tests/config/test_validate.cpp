// Checks that concern several keys, and configurations that no file was read for.
#include <limits>

#include "config/config.hpp"
#include "config/method_choices.hpp"
#include "tests/support/refusal.hpp"

#include "tests/catch.hpp"

using namespace rldp;

namespace {
std::string refused(const std::string& json) {
    return refusal([&] { config::parse(json, "f.json", "/"); });
}
bool mentions(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}
}  // namespace

TEST_CASE("as_published needs an acknowledgement, gdp_clt needs as_published") {
    CHECK(mentions(refused(R"({"privacy": {"semantics": "as_published"}})"), "privacy.acknowledge_no_guarantee"));
    CHECK(refused(R"({"privacy": {"semantics": "as_published", "acknowledge_no_guarantee": true}})").empty());
    CHECK(mentions(refused(R"({"privacy": {"accountant": "gdp_clt"}})"), "privacy.accountant"));
    CHECK(refused(R"({"privacy": {"semantics": "as_published", "acknowledge_no_guarantee": true,
                                  "accountant": "gdp_clt"}})")
              .empty());
}

TEST_CASE("the sampling rate can't exceed 1") {
    CHECK(mentions(refused(R"({"privacy": {"population": 15}})"), "train.expected_batch_size is 16"));
    CHECK(refused(R"({"privacy": {"population": 16}})").empty());
}

TEST_CASE("the first radius lies between the bounds") {
    CHECK(mentions(refused(R"({"clip": {"min": 0.2}})"), "clip.initial"));
    CHECK(mentions(refused(R"({"clip": {"max": 0.05}})"), "clip.initial"));
    CHECK(refused(R"({"clip": {"min": 0.1, "max": 0.1}})").empty());
}

TEST_CASE("the method and what it needs") {
    CHECK(mentions(refused(R"({"method": {"name": "static"}, "noise": {"policy": "deck"}})"), "noise.policy"));
    CHECK(mentions(refused(R"({"method": {"name": "psac"}, "noise": {"allocation": "shares"}})"), "noise.allocation"));
    CHECK(mentions(refused(R"({"method": {"name": "auto_s"}, "clip": {"public_data": "synthetic:9"}})"),
                   "clip.public_data"));
    CHECK(mentions(refused(R"({"method": {"name": "geoclip"}, "clip": {"groups": "adapters"}})"), "clip.groups"));
    CHECK(mentions(refused(R"({"method": {"name": "dp_lora"}, "clip": {"groups": "flat"}})"), "clip.groups"));
    CHECK(refused(R"({"method": {"name": "static"}, "clip": {"groups": "adapters"}})").empty());
    CHECK(mentions(refused(R"({"method": {"name": "static"}, "noise": {"statistics_share": 0.02}})"),
                   "noise.statistics_share"));
    CHECK(mentions(refused(R"({"noise": {"statistics_share": 0}})"), "method.name static"));
    CHECK(mentions(refused(R"({"rl": {"actions": ["radii", "shares"]}})"), "set noise.allocation to \"shares\""));
    CHECK(refused(R"({"rl": {"actions": ["shares"]}, "noise": {"allocation": "shares"}})").empty());
    CHECK(mentions(refused(R"({"rl": {"batch": 8, "replay": 7}})"), "rl.replay"));
}

TEST_CASE("a key of another method is refused") {
    CHECK(mentions(refused(R"({"method": {"quantile": 0.5}})"), "method.quantile has no meaning for method rldp"));
    CHECK(mentions(refused(R"({"method": {"name": "dcsgd_e", "quantile": 0.5}})"), "autoclip_quantile and dcsgd_p"));
    CHECK(mentions(refused(R"({"method": {"name": "static", "query_noise": 3}})"), "method.query_noise"));
    CHECK(mentions(refused(R"({"method": {"name": "adaclip", "rank": 3}})"), "method.rank"));
    CHECK(mentions(refused(R"({"method": {"name": "adaclip", "stabiliser": 3}})"), "method.stabiliser"));
    CHECK(refused(R"({"method": {"name": "geoclip", "rank": 0}})").empty());
    CHECK(refused(R"({"method": {"name": "psac", "stabiliser": 0.1}})").empty());
    CHECK(refused(R"({"method": {"name": "static", "quantile": null}})").empty());
}

TEST_CASE("what keys left alone mean depends on the method") {
    const auto choices = [](const std::string& method) {
        return config::choices_of(config::parse(R"({"method": {"name": ")" + method + "\"}}", "f", "/"));
    };
    const auto ours = choices("rldp");
    CHECK((ours.policy == "deck" && ours.groups == "adapters" && ours.statistics_share == 0.02));
    CHECK(ours.initial_radius == 0.1);
    const auto flat = choices("static");
    CHECK((flat.policy == "fixed" && flat.groups == "flat" && flat.statistics_share == 0));
    CHECK(flat.initial_radius == 1);
    CHECK(choices("dp_lora_literal").groups == "factors");
    const auto autoclip = choices("autoclip_quantile");
    CHECK((autoclip.initial_radius == 0.1 && autoclip.quantile == 0.5));
    CHECK(autoclip.query_noise == 0.8);  // 16/20
    CHECK((choices("dcsgd_p").quantile == 0.3 && choices("dcsgd_p").query_noise == 6));
}

TEST_CASE("tf32 needs a CUDA device") {
    CHECK(mentions(refused(R"({"model": {"dtype": "tf32"}})"), "model.dtype"));
    CHECK(refused(R"({"model": {"dtype": "tf32"}, "device": "cuda"})").empty());
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
    CHECK(mentions(bad([](auto& c) { c.privacy.epsilon = limits::infinity(); }), "privacy.epsilon"));
    CHECK(mentions(bad([](auto& c) { c.privacy.epsilon = limits::quiet_NaN(); }), "privacy.epsilon"));
    CHECK(mentions(bad([](auto& c) { c.clip.max = limits::quiet_NaN(); }), "clip.max"));
    CHECK(mentions(bad([](auto& c) { c.noise.policy = "none"; }), "noise.policy"));
    CHECK(mentions(bad([](auto& c) { c.train.micro_batch = 0; }), "train.micro_batch"));
    CHECK(mentions(bad([](auto& c) { c.train.steps = 1, c.train.epochs = 1; }), "train.steps"));
}

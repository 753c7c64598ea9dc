#include <ATen/ATen.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "config/methods.hpp"
#include "privacy/mechanism/clipping.hpp"
#include "privacy/mechanism/sanitizer.hpp"
#include "privacy/methods/method.hpp"
#include "tests/catch.hpp"
#include "tests/support/charges.hpp"
#include "tests/support/goodness.hpp"

using namespace rldp::privacy;

namespace {

const std::vector<std::int64_t> pairs = {3000, 5000, 2000};
constexpr std::int64_t coordinates = 10000;

/// All but rldp.
std::vector<std::string> unsteered_names() {
    std::vector<std::string> out;
    for (const auto& row : rldp::config::methods())
        if (!row.steered()) out.push_back(row.name);
    return out;
}

const std::vector<std::string> names = unsteered_names();

method_config make_config(const std::string& name) {
    method_config out;
    out.name = name;
    out.pair_sizes = pairs;
    out.expected_batch = 64;
    out.initial_radius = 0.5;
    out.clip_min = 1e-3;
    out.clip_max = 1;
    out.quantile = 0.5;
    out.stabiliser = 0.01;
    out.rank = 8;
    if (name.starts_with("dp_lora")) out.groups = 2;
    if (name == "autoclip_quantile") out.query_noise = 3.2;
    if (name.starts_with("dcsgd")) out.query_noise = 6;
    if (name == "hyfreedp") out.statistics_share = 0.1;
    return out;
}

/// One group for the whole, or A and B of each pair in turn.
std::vector<segment> segments_for(const method_config& config) {
    if (config.groups == 1) return {{coordinates, 0}};
    std::vector<segment> out;
    for (const auto size : pairs) {
        out.push_back({size / 4, 0});
        out.push_back({size - size / 4, 1});
    }
    return out;
}

release released(const method_config& config, const method& how, std::uint64_t seq, double z,
                 const at::Tensor& gradients) {
    sanitizer by({segments_for(config), rldp::allocation::proportional, false}, run_key::insecure_from_seed(3));
    by.begin({rldp::testing::charged_at(seq, z), how.next_terms(z)});
    const auto points = 1 + std::ssize(how.next_terms(z).probes);
    if (gradients.size(0) > 0) by.add({gradients, at::full({gradients.size(0), points}, 1e9, at::kDouble)});
    return by.finish();
}

/// What its first release makes of a sum.
at::Tensor first_mean(const std::string& name, const at::Tensor& sum) {
    auto value = rldp::testing::blank_release();
    value.gradient = sum;
    value.statistics.assign(20, 1);
    return make_method(make_config(name))->absorb(value);
}

/// Ten steps on: now it measures losses, too.
void at_its_first_look(method& hyfreedp) {
    auto value = rldp::testing::blank_release();
    value.gradient = at::ones({coordinates});
    for (int t = 0; t < 10; ++t) hyfreedp.absorb(value);
}

at::Tensor nobody() {
    return at::zeros({0, coordinates});
}

/// ‖x_i‖ of each group, in the metric of the clip.
std::vector<double> lengths(const step_terms& terms, const std::vector<segment>& segments, const at::Tensor& x) {
    if (terms.shape) return {terms.shape->norms(x.to(at::kDouble).unsqueeze(0)).item<double>()};
    const auto norms = group_norms(x.unsqueeze(0), segments).norms.contiguous();
    return {norms.data_ptr<double>(), norms.data_ptr<double>() + norms.numel()};
}

std::vector<double> group_sizes(const std::vector<segment>& segments, std::size_t groups) {
    std::vector<double> out(groups, 0);
    for (const auto& part : segments) out[part.group] += static_cast<double>(part.size);
    return out;
}

/// By how many noise standard deviations, as measured from pure noise, `with` differs from `without`: the reciprocal of
/// the multiplier, where one unit makes the difference.
double moved(const method_config& config, const method& how, double z, const at::Tensor& without,
             const at::Tensor& with) {
    const auto terms = how.next_terms(z);
    const auto segments = segments_for(config);
    const auto noise = released(config, how, 2, z, nobody());
    const auto a = released(config, how, 1, z, without), b = released(config, how, 1, z, with);
    const auto deviations = lengths(terms, segments, noise.gradient);
    const auto differences = lengths(terms, segments, b.gradient - a.gradient);
    const auto sizes = group_sizes(segments, config.groups);
    double sum = 0;
    for (std::size_t i = 0; i < config.groups; ++i)
        sum += differences[i] * differences[i] / (deviations[i] * deviations[i] / sizes[i]);
    if (terms.measured) {
        const double s = terms.measurement_multiplier * terms.measured->sensitivity();
        for (std::size_t j = 0; j < a.statistics.size(); ++j)
            sum += std::pow((b.statistics[j] - a.statistics[j]) / s, 2);
    }
    return std::sqrt(sum);
}

at::Tensor unit_of_norm(double norm, std::int64_t seed) {
    at::manual_seed(seed);
    const auto x = at::randn({1, coordinates});
    return x * (norm / x.norm().item<double>());
}

}  // namespace

TEST_CASE("every method's noise amounts to the multiplier that is charged, from outside") {
    for (const auto& name : names) {
        for (const double z : {0.4, 0.9, 2.5}) {
            CAPTURE(name, z);
            const auto config = make_config(name);
            const auto how = make_method(config);
            if (name == "hyfreedp") at_its_first_look(*how);
            auto without = at::cat({unit_of_norm(0.1, 1), unit_of_norm(2, 2)});
            auto one = unit_of_norm(1e4, 3);
            if (name == "dp_lora_literal") {  // whose mean one unit can turn round
                without = one;
                one = -3 * one;
            }
            const double found = moved(config, *how, z, without, at::cat({without, one})) * z;
            CHECK(found < 1.03);  // noise from one release: 10,000 numbers, a percent or two
            CHECK(found > 0.97);
        }
    }
}

TEST_CASE("what a method asks of the batch takes its part of the multiplier") {
    const auto z_g = [](const std::string& name, double z, double batch, double query_noise) {
        auto config = make_config(name);
        config.expected_batch = batch;
        config.query_noise = query_noise;
        const auto terms = make_method(config)->next_terms(z);
        return gradient_multiplier(z, terms.measurement_multiplier);
    };
    // The specified case: z = 1, L = 256, σ_b = L/20.
    CHECK(z_g("autoclip_quantile", 1, 256, 256.0 / 20) == Approx(1.0008).margin(5e-5));
    // z = 1, σ_H = 6.
    CHECK(z_g("dcsgd_p", 1, 64, 6) == Approx(1.0142).margin(5e-5));
    CHECK(z_g("dcsgd_e", 1, 64, 6) == Approx(1.0142).margin(5e-5));
    CHECK_THROWS_AS(z_g("dcsgd_e", 6, 64, 6), rldp::error);
    CHECK_THROWS_AS(z_g("autoclip_quantile", 2, 16, 0.8), rldp::error);
}

TEST_CASE("automatic clipping and psac weigh units as published") {
    const auto norms = at::tensor({0.0, 0.01, 0.09, 1.0, 1e3, 1e30}, at::kDouble).unsqueeze(1);
    const auto by = [&](clip_rule rule, double stabiliser) {
        return clip_factors(rule, norms, {2.0}, stabiliser).squeeze(1).contiguous();
    };
    const auto automatic = by(clip_rule::normalise, 0.01);
    CHECK(automatic[1].item<double>() == Approx(2 / 0.02));
    CHECK(automatic[3].item<double>() == Approx(2 / 1.01));
    // With r = 0.01 the weight is largest at ν = √r − r = 0.09, where it is 1/(2√r − r) = 5.263.
    const auto psac = by(clip_rule::psac, 0.01);
    CHECK(psac[2].item<double>() == Approx(2 / 0.19));
    CHECK(psac.max().item<double>() == psac[2].item<double>());
    CHECK(psac[0].item<double>() == Approx(2));
    for (const auto& factors : {automatic, psac}) CHECK((factors * norms.squeeze(1) < 2).all().item<bool>());
    for (const char* name : {"auto_s", "psac"}) {
        auto config = make_config(name);
        config.stabiliser = 0.03;
        const auto terms = make_method(config)->next_terms(1);
        CHECK(terms.stabiliser == 0.03);
        CHECK(terms.rule == (config.name == "psac" ? clip_rule::psac : clip_rule::normalise));
    }
}

TEST_CASE("dp_adambc tells the optimiser what noise there is") {
    const auto config = make_config("dp_adambc");
    const auto how = make_method(config);
    CHECK_FALSE(how->noise_variance());
    how->absorb(released(config, *how, 1, 0.8, nobody()));
    CHECK(how->noise_variance().value() == Approx(std::pow(0.8 * 0.5 / 64, 2)));
}

TEST_CASE("scale_first clips in the shape of Adam's second moment") {
    auto config = make_config("scale_first");
    config.stabiliser = 0.25;
    const auto how = make_method(config);
    CHECK(at::allclose(how->next_terms(1).shape->deviations(), at::full({coordinates}, 0.5, at::kDouble)));
    auto value = rldp::testing::blank_release();
    value.gradient = at::ones({coordinates});
    value.gradient.slice(0, 0, coordinates / 2) *= 7;  // root mean square 5: scales 1.65 and 0.45, once γ is added
    for (int step = 1; step < 20; ++step) how->absorb(value);
    CHECK(at::allclose(how->next_terms(1).shape->deviations(), at::full({coordinates}, 0.5, at::kDouble)));
    how->absorb(value);
    const auto scales = how->next_terms(1).shape->deviations();
    const double length = std::sqrt((1.65 * 1.65 + 0.45 * 0.45) / 2);
    CHECK(scales[0].item<double>() == Approx(0.5 * 1.65 / length));
    CHECK(scales[coordinates - 1].item<double>() == Approx(0.5 * 0.45 / length));
}

TEST_CASE("scale_first makes no shape of its own noise") {
    const auto config = make_config("scale_first");
    const auto how = make_method(config);
    for (std::uint64_t seq = 1; seq <= 200; ++seq) how->absorb(released(config, *how, seq, 0.8, nobody()));
    const auto scales = how->next_terms(1).shape->deviations();
    CHECK(scales.std().item<double>() < 0.35 * scales.mean().item<double>());
}

TEST_CASE("dp_lora by unit and by the letter") {
    // Two groups with std σC on a clipped mean have z = σ/(2√2); σ = 2 gives 0.707.
    CHECK(effective_multiplier(sensitivities(clip_rule::batch_mean, {1, 1}, 0), {2, 2}) == Approx(2 / std::sqrt(8.0)));
    const double z = 0.8;
    for (const bool literal : {false, true}) {
        const auto config = make_config(literal ? "dp_lora_literal" : "dp_lora");
        const auto how = make_method(config);
        const auto out = released(config, *how, 1, z, nobody());
        const auto segments = segments_for(config);
        const double s = (literal ? 2 : 1) * std::sqrt(2.0) * z * 0.5;
        std::int64_t offset = 0;
        for (const auto& part : segments) {
            const auto x = out.gradient.narrow(0, offset, part.size).to(at::kDouble).contiguous();
            CHECK(fits({x.data_ptr<double>(), x.data_ptr<double>() + part.size}, s));
            offset += part.size;
        }
        const auto mean = how->absorb(out);
        CHECK(at::allclose(mean, out.gradient / (literal ? 1 : 64)));
    }
    // The mean of the units drawn, each group clipped to C.
    const auto config = make_config("dp_lora_literal");
    const auto units = at::cat({unit_of_norm(0.2, 4), unit_of_norm(0.4, 5), unit_of_norm(3, 6)});
    const auto out = released(config, *make_method(config), 1, 1e-7, units);
    const auto expected = units.to(at::kDouble).mean(0);
    const auto norms = group_norms(expected.to(at::kFloat).unsqueeze(0), segments_for(config)).norms;
    std::int64_t offset = 0;
    for (const auto& part : segments_for(config)) {
        const double norm = norms[0][static_cast<std::int64_t>(part.group)].item<double>();
        expected.narrow(0, offset, part.size) *= std::min(1.0, 0.5 / norm);
        offset += part.size;
    }
    CHECK(norms.max().item<double>() > 0.5);
    CHECK(at::allclose(out.gradient.to(at::kDouble), expected, 1e-5, 1e-5));
}

TEST_CASE("autoclip's radius follows the released fraction") {
    auto config = make_config("autoclip_quantile");
    config.quantile = 0.5;
    const auto how = make_method(config);
    const auto bits = how->next_terms(0.9).measured;
    std::vector<double> sum(1, 0.0);
    bits->add(at::tensor({0.1, 0.47, 0.53, 7.0}, at::kDouble).unsqueeze(1), {}, sum);
    CHECK(sum[0] == 0);  // two within, two without
    bits->add(at::tensor({0.5}, at::kDouble).unsqueeze(1), {}, sum);
    CHECK(sum[0] == Approx(0).margin(1e-12));  // half within
    bits->add(at::tensor({0.2}, at::kDouble).unsqueeze(1), {}, sum);
    CHECK(sum[0] == Approx(0.5));
    auto value = rldp::testing::blank_release();
    value.gradient = at::ones({coordinates});
    value.statistics = {16};  // ½ + 16/64 = ¾ of the units within
    how->absorb(value);
    CHECK(how->radii()[0] == Approx(0.5 * std::exp(-0.2 * 0.25)));
    value.statistics = {-1e9};  // a fraction is held in [0, 1]
    how->absorb(value);
    CHECK(how->radii()[0] == Approx(0.5 * std::exp(-0.2 * 0.25 + 0.2 * 0.5)));
    for (int i = 0; i < 100; ++i) how->absorb(value);
    CHECK(how->radii()[0] == 1);  // clip_max
}

TEST_CASE("dcsgd's histogram has a bin for every norm") {
    const auto histogram = measure_histogram(0.05, 20);
    std::vector<double> sum(20, 0.0);
    histogram->add(at::tensor({0.0, 0.047, 0.053, 0.97, 1.0, 1e30}, at::kDouble).unsqueeze(1), {}, sum);
    CHECK(sum[0] == 2);
    CHECK(sum[1] == 1);
    CHECK(sum[19] == 3);
    histogram->add(at::tensor({0.0505}, at::kDouble).unsqueeze(1), {}, sum);  // 1 % above where two bins meet
    CHECK(sum[0] == Approx(2.4));
    CHECK(sum[1] == Approx(1.6));
    CHECK(histogram->sensitivity() == 1);
}

TEST_CASE("dcsgd_p takes the percentile's bin") {
    auto config = make_config("dcsgd_p");
    config.quantile = 0.3;
    const auto how = make_method(config);
    auto value = rldp::testing::blank_release();
    value.gradient = at::ones({coordinates});
    value.statistics.assign(20, 0.0);
    value.statistics[3] = 20;
    value.statistics[7] = 30;
    value.statistics[19] = 50;  // cumulative 20, 50, 100 of 100: 30 % lies in bin 7
    how->absorb(value);
    CHECK(how->radii()[0] == Approx(2 * 0.5 / 20 * 7.5));
    value.statistics.assign(20, 0.0);
    value.statistics[19] = 10;
    how->absorb(value);
    CHECK(how->radii()[0] == Approx(2 * 0.375 / 20 * 19.5));
    const double kept = how->radii()[0];
    value.statistics.assign(20, -1.0);  // noise only
    how->absorb(value);
    CHECK(how->radii()[0] == kept);
}

TEST_CASE("dcsgd_e takes the least error") {
    auto config = make_config("dcsgd_e");
    config.pair_sizes = {100};
    config.expected_batch = 100;
    config.initial_radius = 1;
    config.clip_max = 10;
    const auto how = make_method(config);
    auto value = rldp::testing::blank_release(1, 1 / std::sqrt(1 / (2.0 * 2.0) + 1 / 36.0));  // z_g = 2 beside σ_H = 6
    value.gradient = at::ones({100});
    // Bins of width 1: all mass at 1.5. Error of c: (2c)²·100/100² + (1.5 − c)², least at c = 1.5/1.04 = 1.44:
    // candidate 1.4.
    value.statistics.assign(20, 0.0);
    value.statistics[1] = 80;
    how->absorb(value);
    CHECK(how->radii()[0] == Approx(1.4));
    CHECK(nlohmann::json::parse(how->save().numbers).at("width") == 0.5);  // nothing in the upper half
    // Bins of ½ now: all in the last, whose middle is 9.75. From 1.4 the search goes 2.8, 5.6, and ends inside.
    value.statistics.assign(20, 0.0);
    value.statistics[19] = 80;
    how->absorb(value);
    CHECK(how->radii()[0] == Approx(9.52));  // 5.6·1.7: least near 9.75/1.04 = 9.375, candidates 8.96 and 9.52
    CHECK(nlohmann::json::parse(how->save().numbers).at("width") == 1);
}

TEST_CASE("a method goes on from its state as if nothing had been") {
    for (const auto& name : names) {
        CAPTURE(name);
        const auto config = make_config(name);
        const auto one = make_method(config), other = make_method(config);
        const auto units = at::cat({unit_of_norm(0.3, 7), unit_of_norm(0.9, 8)});
        const auto first = released(config, *one, 1, 0.9, units);
        one->absorb(first);
        other->load(one->save());
        const auto a = released(config, *one, 2, 0.9, units), b = released(config, *other, 2, 0.9, units);
        CHECK(at::equal(a.gradient, b.gradient));
        CHECK(a.statistics == b.statistics);
        CHECK(at::equal(one->absorb(a), other->absorb(b)));
        CHECK(one->radii() == other->radii());
        method_state foreign = one->save();
        foreign.numbers = R"({"method": "another", "radius": 1})";
        CHECK_THROWS_AS(other->load(foreign), rldp::error);
        foreign.numbers = "no JSON";
        CHECK_THROWS_AS(other->load(foreign), rldp::error);
    }
}

TEST_CASE("noise in a release is so much over B, or over 1 where a mean is clipped, in what a method makes of it") {
    at::manual_seed(6);
    const auto sum = at::randn({coordinates}), noise = at::randn({coordinates});
    for (const auto& name : names) {
        INFO(name);
        const auto config = make_config(name);
        const bool mean = make_method(config)->next_terms(1).rule == clip_rule::batch_mean;
        const auto difference = first_mean(name, sum + noise) - first_mean(name, sum);
        CHECK(at::allclose(difference * (mean ? 1 : config.expected_batch), noise, 1e-3, 1e-3));
    }
}

TEST_CASE("methods that can't be are refused") {
    auto config = make_config("static");
    config.name = "dpsgd";
    CHECK_THROWS_AS(make_method(config), rldp::error);
    config = make_config("adaclip");
    config.groups = 3;
    CHECK_THROWS_AS(make_method(config), rldp::error);
    for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
        const std::pair<const char*, double method_config::*> members[] = {{"static", &method_config::expected_batch},
                                                                           {"static", &method_config::initial_radius},
                                                                           {"static", &method_config::clip_min},
                                                                           {"dcsgd_e", &method_config::query_noise},
                                                                           {"auto_s", &method_config::stabiliser}};
        for (const auto& [name, member] : members) {
            config = make_config(name);
            config.*member = bad;
            CHECK_THROWS_AS(make_method(config), rldp::error);
        }
    }
    config = make_config("dcsgd_p");
    config.quantile = 1;
    CHECK_THROWS_AS(make_method(config), rldp::error);
}

#pragma once
// Steps of a method with a geometry, as the sanitizer would make them, with noise from torch's generator.
#include <ATen/ATen.h>

#include <cmath>
#include <vector>

#include "privacy/mechanism/clipping.hpp"
#include "privacy/methods/method.hpp"
#include "tests/catch.hpp"
#include "tests/support/charges.hpp"

/// The clipped sum of `units`, float32 [b, D], that the terms ask for: float64 [D].
inline at::Tensor clipped(const rldp::privacy::step_terms& terms, const at::Tensor& units) {
    rldp::privacy::clipped_sum sum({{units.size(1), 0}}, terms);
    sum.add({units, at::zeros({units.size(0)}, at::kDouble)});
    return sum.take();
}

/// A release of that sum with noise of multiplier z.
inline rldp::privacy::release released(const rldp::privacy::step_terms& terms, double z, const at::Tensor& sum) {
    const auto noise = terms.shape->colour(at::randn(sum.sizes(), at::kDouble)) * z;
    return {rldp::testing::charged_at(1, z), (sum + noise).to(at::kFloat), {}, {}};
}

/// Runs `steps` steps in which nobody has a gradient; calls `after` behind each.
template <class After>
void noise_only(rldp::privacy::method& by, std::int64_t coordinates, double z, int steps, After after) {
    for (int t = 0; t < steps; ++t) {
        by.absorb(released(by.next_terms(z), z, at::zeros({coordinates}, at::kDouble)));
        after();
    }
}

inline rldp::privacy::method_config make_test_config(const char* name, std::vector<std::int64_t> sizes, double batch,
                                                     double radius, std::int64_t rank = 8) {
    rldp::privacy::method_config out;
    out.name = name;
    out.pair_sizes = std::move(sizes);
    out.expected_batch = batch;
    out.initial_radius = radius;
    out.clip_min = 1e-3;
    out.clip_max = 1;
    out.rank = rank;
    return out;
}

/// A state with one tensor replaced, or taken out where `by` is undefined.
inline rldp::privacy::method_state with(rldp::privacy::method_state state, const std::string& name,
                                        const at::Tensor& by) {
    std::vector<std::pair<std::string, at::Tensor>> out;
    for (const auto& [key, value] : state.tensors)
        if (key != name || by.defined()) out.emplace_back(key, key == name ? by : value);
    state.tensors = out;
    return state;
}

/// Whether two methods order the same next step and make the same of it, for a few steps, to the bit.
inline bool same_future(rldp::privacy::method& one, rldp::privacy::method& other, std::int64_t coordinates) {
    for (int t = 0; t < 3; ++t) {
        const auto a = one.next_terms(0.8), b = other.next_terms(0.8);
        if (!at::equal(a.shape->centre(), b.shape->centre())) return false;
        if (!at::equal(a.shape->deviations(), b.shape->deviations())) return false;
        const auto value = released(a, 0.8, at::randn({coordinates}, at::kDouble));
        if (!at::equal(one.absorb(value), other.absorb(value))) return false;
    }
    return true;
}

/// Of a method with a geometry: units of any size, clipped, are no longer than 1 where the noise is white, and large
/// ones are as long as that; for 30 steps.
inline void check_white_norms(rldp::privacy::method& by, const at::Tensor& spread) {
    for (int t = 0; t < 30; ++t) {
        const auto terms = by.next_terms(0.5);
        CHECK(terms.radii == std::vector<double>{1});
        const double scale = std::pow(10.0, t % 7 - 3);
        const auto units = at::randn({8, spread.numel()}) * spread * scale;
        for (std::int64_t b = 0; b < 8; ++b) {
            const auto part = clipped(terms, units.narrow(0, b, 1));
            const double norm = terms.shape->norms(part.unsqueeze(0)).item<double>();
            CHECK(norm <= 1);
            if (scale >= 10) CHECK(norm > 1 - 1e-4);
        }
        by.absorb(released(terms, 0.5, clipped(terms, units)));
    }
}

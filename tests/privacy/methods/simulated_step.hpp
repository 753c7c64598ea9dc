#pragma once
// Steps of a method with a geometry, as the sanitizer would make them, with noise from torch's generator.
#include <ATen/ATen.h>

#include <vector>

#include "privacy/mechanism/clipping.hpp"
#include "privacy/methods/method.hpp"
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

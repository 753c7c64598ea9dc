#pragma once
// A minimum without derivatives: Nelder and Mead (1965), "A simplex method for function minimization".
#include <algorithm>
#include <array>
#include <cstddef>

namespace rldp::eval {

template <std::size_t N>
using point = std::array<double, N>;

/// a + by·(b − a).
template <std::size_t N>
point<N> along(const point<N>& a, const point<N>& b, double by) {
    point<N> out;
    for (std::size_t i = 0; i < N; ++i) out[i] = a[i] + by * (b[i] - a[i]);
    return out;
}

/// A local minimum of a continuous function, from a simplex of edges `step` at `start`. Ends when the simplex's values
/// differ by less than `tolerance`, or after 5000 steps.
template <std::size_t N, class F>
point<N> minimise(const F& value, const point<N>& start, double step, double tolerance) {
    struct vertex {
        point<N> at;
        double value;
    };
    const auto make = [&](const point<N>& at) { return vertex{at, value(at)}; };
    std::array<vertex, N + 1> simplex;
    simplex.fill(make(start));
    for (std::size_t i = 0; i < N; ++i) {
        auto at = start;
        at[i] += step;
        simplex[i] = make(at);
    }
    const auto lower = [](const vertex& a, const vertex& b) { return a.value < b.value; };
    auto &best = simplex.front(), &worst = simplex.back();
    for (int steps = 0; steps < 5000; ++steps) {
        std::sort(simplex.begin(), simplex.end(), lower);
        if (worst.value - best.value < tolerance) break;
        point<N> centre{};  // of all but the worst
        for (std::size_t v = 0; v < N; ++v)
            for (std::size_t i = 0; i < N; ++i) centre[i] += simplex[v].at[i] / N;
        const auto beyond = [&](double by) { return make(along(centre, worst.at, -by)); };
        const auto reflected = beyond(1);
        if (reflected.value < best.value) {
            worst = std::min(beyond(2), reflected, lower);
        } else if (reflected.value < simplex[N - 1].value) {
            worst = reflected;
        } else {
            const auto contracted = beyond(reflected.value < worst.value ? 0.5 : -0.5);
            if (contracted.value < std::min(reflected.value, worst.value))
                worst = contracted;
            else
                for (std::size_t v = 1; v <= N; ++v) simplex[v] = make(along(best.at, simplex[v].at, 0.5));
        }
    }
    return std::min_element(simplex.begin(), simplex.end(), lower)->at;
}

}  // namespace rldp::eval

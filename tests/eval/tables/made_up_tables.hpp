#pragma once
// Tables of three columns, drawn from one law, for the tests of what is said of them.
#include <random>

#include "eval/tables/judgement.hpp"

namespace rldp::eval {

inline value_table draw_rows(std::size_t rows, unsigned seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    value_table out(3);
    for (std::size_t i = 0; i < rows; ++i) {
        const auto kind = static_cast<double>(random() % 3);
        out[0].push_back(kind + normal(random));
        out[1].push_back(kind);
        out[2].push_back(random() % 2 == 0 ? kind : static_cast<double>(random() % 3));
    }
    return out;
}

inline real_rows draw_units(std::size_t rows, unsigned seed) {
    real_rows out{draw_rows(rows, seed), {}};
    for (std::size_t i = 0; i < rows; ++i) out.unit.push_back(i);
    return out;
}

/// `made_up` beside 400 training rows and 300 others.
inline judged_tables beside_draws(value_table made_up) {
    judged_tables out;
    out.columns = {{"size", value_kind::number, {}},
                   {"kind", value_kind::category, {"a", "b", "c"}},
                   {"sort", value_kind::category, {"a", "b", "c"}}};
    out.made_up = std::move(made_up);
    out.training = draw_units(400, 1);
    out.held_out = draw_units(300, 2);
    out.sensitive = {2};
    return out;
}

}  // namespace rldp::eval

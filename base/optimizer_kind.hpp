#pragma once
// What train.optimizer may be.
#include "base/kinds.hpp"

namespace rldp {

/// What takes a step with a released gradient (models/optimizers/optimizer.hpp).
enum class optimizer_kind { adamw, dog, prodigy, mechanic, hypergradient };
template <>
struct names<optimizer_kind> {
    static constexpr auto what = "optimizer";
    static constexpr named_value<optimizer_kind> rows[] = {{optimizer_kind::adamw, "adamw"},
                                                           {optimizer_kind::dog, "dog"},
                                                           {optimizer_kind::prodigy, "prodigy"},
                                                           {optimizer_kind::mechanic, "mechanic"},
                                                           {optimizer_kind::hypergradient, "hypergradient"}};
};
/// Whether it is told no learning rate.
constexpr bool finds_its_rate(optimizer_kind kind) {
    switch (kind) {
        case optimizer_kind::dog:
        case optimizer_kind::prodigy:
        case optimizer_kind::mechanic:
            return true;
        case optimizer_kind::adamw:
        case optimizer_kind::hypergradient:
            break;
    }
    return false;
}
/// Whether it multiplies a gradient with moves that earlier ones led to, which says something only where their noise is
/// independent of its own.
constexpr bool needs_independent_noise(optimizer_kind kind) {
    switch (kind) {
        case optimizer_kind::prodigy:
        case optimizer_kind::mechanic:
        case optimizer_kind::hypergradient:
            return true;
        case optimizer_kind::adamw:
        case optimizer_kind::dog:
            break;
    }
    return false;
}

}  // namespace rldp

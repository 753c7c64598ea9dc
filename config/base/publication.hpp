#pragma once
// What a run publishes of its held-out units (eval.publish), for configuration, ledger, certificate and whoever prints
// them.
#include "config/base/named.hpp"

namespace rldp {

enum class publication {
    noised,  ///< a few looks, each a Gaussian release (docs/privacy.md §13)
    none,    ///< nothing
    raw      ///< exact figures: those units have no protection at all
};
template <>
struct names<publication> {
    static constexpr auto what = "publication";
    static constexpr named_value<publication> rows[] = {
        {publication::noised, "private"}, {publication::none, "none"}, {publication::raw, "raw"}};
};

}  // namespace rldp

#pragma once
// What a run publishes of its held-out units (eval.publish): the one list of it, for configuration, ledger, certificate
// and whoever prints them.
#include <array>
#include <string>
#include <string_view>

#include "config/base/error.hpp"
#include "config/base/require.hpp"

namespace rldp {

enum class publication {
    noised,  ///< a few looks, each a Gaussian release (docs/privacy.md §13)
    none,    ///< nothing
    raw      ///< exact figures: those units have no protection at all
};

struct publication_name {
    publication how;
    std::string_view name;
};
inline constexpr std::array<publication_name, 3> publications{
    {{publication::noised, "private"}, {publication::none, "none"}, {publication::raw, "raw"}}};

inline std::string name_of(publication how) {
    for (const auto& each : publications)
        if (each.how == how) return std::string(each.name);
    bug("a publication without a name");
}
/// Errors: bad_input for any other word.
inline publication publication_from(std::string_view word) {
    for (const auto& each : publications)
        if (each.name == word) return each.how;
    refuse("publication \"" + std::string(word) + "\" is unknown: private, none and raw are known");
}

}  // namespace rldp

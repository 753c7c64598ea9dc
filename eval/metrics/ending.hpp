#pragma once
// How a run ended, as summary.json and the monitor say it.
#include <string>
#include <string_view>

#include "config/base/error.hpp"
#include "config/base/require.hpp"

namespace rldp::eval {

enum class ending { done, budget_exhausted, interrupted };

inline std::string name_of(ending how) {
    switch (how) {
        case ending::done:
            return "done";
        case ending::budget_exhausted:
            return "budget exhausted";
        case ending::interrupted:
            return "interrupted";
    }
    bug("an ending without a name");
}

/// Errors: bad_input for any other word.
inline ending ending_from(std::string_view word) {
    for (const auto how : {ending::done, ending::budget_exhausted, ending::interrupted})
        if (word == name_of(how)) return how;
    refuse("status \"" + std::string(word) + "\" is unknown: done, budget exhausted and interrupted are known");
}

}  // namespace rldp::eval

#include "actors/run/outcome.hpp"

namespace rldp::actors {

std::string word_of(ending how) {
    switch (how) {
        case ending::done:
            return "done";
        case ending::budget_exhausted:
            return "budget exhausted";
        case ending::interrupted:
            return "interrupted";
    }
    return {};
}

}  // namespace rldp::actors

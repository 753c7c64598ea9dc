#pragma once
// Whether a run's ε bounds anything: the one type and the one function that answer it, for the configuration, the
// ledger, the summary, the certificate and whoever prints them.
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "config/base/error.hpp"

namespace rldp {

/// sound keeps the contract; as_published reproduces the publication (docs/privacy.md §9) and guarantees nothing.
enum class semantics { sound, as_published };

inline std::string name_of(semantics how) {
    return how == semantics::sound ? "sound" : "as_published";
}
/// Errors: bad_input for any other word.
inline semantics semantics_from(std::string_view word) {
    if (word == "sound") return semantics::sound;
    if (word == "as_published") return semantics::as_published;
    refuse("semantics \"" + std::string(word) + "\" is unknown: sound and as_published are known");
}

/// Everything that decides it.
struct guarantee {
    rldp::semantics semantics = semantics::sound;
    bool insecure_reproducible = false;  ///< draws, dropout and noise follow from a public seed
    double epsilon = 0;                  ///< what the policy commits to

    /// Why ε protects no one, a phrase each; empty where it does.
    std::vector<std::string> voids() const {
        std::vector<std::string> out;
        if (semantics != semantics::sound) out.emplace_back("privacy.semantics is as_published");
        if (insecure_reproducible) out.emplace_back("draws and noise follow from a seed (noise.insecure_reproducible)");
        if (!std::isfinite(epsilon)) out.emplace_back("the committed ε is not finite");
        return out;
    }
    bool holds() const { return voids().empty(); }
};

}  // namespace rldp

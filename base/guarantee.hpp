#pragma once
// What a run promises: what it publishes of held-out units, and whether its ε bounds anything. For the configuration,
// the ledger, the summary, the certificate and whoever prints them.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/kinds.hpp"

namespace rldp {

// Publication. What a run publishes of its held-out units (eval.publish).

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

/// So many runs one ε and δ may be for together, at most (`rldp tune`, docs/privacy.md §15).
inline constexpr std::int64_t most_runs = 100;

// Guarantee. Whether a run's ε bounds anything: the one type and the one function that answer it.

/// sound keeps the contract; as_published reproduces the publication (docs/privacy.md §9) and guarantees nothing.
enum class semantics { sound, as_published };

template <>
struct names<semantics> {
    static constexpr auto what = "semantics";
    static constexpr named_value<semantics> rows[] = {{semantics::sound, "sound"},
                                                      {semantics::as_published, "as_published"}};
};

/// Everything that decides it.
struct guarantee {
    rldp::semantics semantics = semantics::sound;
    bool insecure_reproducible = false;  ///< draws, dropout and noise follow from a public seed
    double epsilon_guaranteed = 0;       ///< what the policy commits to

    /// Why ε protects no one, a phrase each; empty where it does.
    std::vector<std::string> voids() const {
        std::vector<std::string> out;
        if (semantics != semantics::sound) out.emplace_back("privacy.semantics is as_published");
        if (insecure_reproducible) out.emplace_back("draws and noise follow from a seed (noise.insecure_reproducible)");
        if (!std::isfinite(epsilon_guaranteed)) out.emplace_back("the committed ε is not finite");
        return out;
    }
    bool holds() const { return voids().empty(); }
};

}  // namespace rldp

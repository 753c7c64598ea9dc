#include "privacy/accounting/accountant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "config/base/accountants.hpp"
#include "config/base/error.hpp"
#include "config/base/require.hpp"
#include "privacy/accounting/checked_phases.hpp"
#include "privacy/accounting/gdp.hpp"
#include "privacy/accounting/pld/pld.hpp"
#include "privacy/accounting/rdp.hpp"

namespace rldp::privacy {
namespace {

void check(const phase& r, std::size_t index) {
    if (!std::isfinite(r.noise_multiplier) || r.noise_multiplier <= 0)
        refuse(fmt::format("phase {}: noise_multiplier {} must be positive and finite", index, r.noise_multiplier));
    if (!(r.sample_rate >= 0 && r.sample_rate <= 1))
        refuse(fmt::format("phase {}: sample_rate {} must lie in [0, 1]", index, r.sample_rate));
    if (r.steps < 0) refuse(fmt::format("phase {}: steps {} must not be negative", index, r.steps));
    // Beyond 10^12 steps the rounding of the sums over steps is no longer covered by the accountants' margins.
    if (r.steps > 1'000'000'000'000) refuse(fmt::format("phase {}: {} steps are more than 10^12", index, r.steps));
}

}  // namespace

std::vector<phase> checked_phases(std::span<const phase> phases) {
    std::vector<phase> sorted;
    for (std::size_t i = 0; i < phases.size(); ++i) {
        check(phases[i], i + 1);
        if (phases[i].steps > 0 && phases[i].sample_rate > 0) sorted.push_back(phases[i]);
    }
    const auto key = [](const phase& r) { return std::tuple(r.noise_multiplier, r.sample_rate); };
    std::sort(sorted.begin(), sorted.end(), [&](const phase& a, const phase& b) { return key(a) < key(b); });
    std::vector<phase> merged;
    for (const phase& r : sorted) {
        if (!merged.empty() && key(merged.back()) == key(r)) {
            merged.back().steps += r.steps;
        } else {
            merged.push_back(r);
        }
    }
    return merged;
}

void check_delta(double delta) {
    if (!(delta > 0 && delta < 1)) refuse(fmt::format("delta {} must lie strictly between 0 and 1", delta));
}

void check_epsilon(double epsilon) {
    if (!(std::isfinite(epsilon) && epsilon >= 0))
        refuse(fmt::format("epsilon {} must be finite and not negative", epsilon));
}

std::unique_ptr<accountant> make_accountant(std::string_view name) {
    switch (parse_named<accountant_kind>(name)) {
        case accountant_kind::pld:
            return make_pld();
        case accountant_kind::rdp:
            return make_rdp();
        case accountant_kind::gdp_clt:
            return make_gdp_clt();
    }
    bug("an accountant that nothing makes");
}

}  // namespace rldp::privacy

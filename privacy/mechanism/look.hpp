#pragma once
// One look at the held-out units: a sum of one short vector per unit, with Gaussian noise (docs/privacy.md §13). Who is
// looked at is decided by each unit's own hash, a unit's figures are computed in passes of its own, and the denominator
// is the noised number of units: so one unit more changes the sum by its own vector, of norm 1 at most, and nothing
// else.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "privacy/keys/random.hpp"
#include "privacy/spending/ledger.hpp"

namespace rldp::privacy {

/// What is measured of one unit, each the mean over its records.
struct unit_look {
    double nats = 0;                         ///< per predicted token
    std::optional<double> value_token_nats;  ///< per predicted token that carries a value
    std::optional<double> hits;              ///< share of its records whose target is guessed right
};

/// Where a figure is expected and how far from there it may lie: public, from the configuration or an earlier look.
struct look_axis {
    double centre = 0, reach = 1;  ///< reach > 0
    bool operator==(const look_axis&) const = default;
};

/// What a look measures. A unit adds (½, (nats − centre)/reach, …, hits − ½), shortened to norm 1 where it is longer.
struct look_frame {
    look_axis nats;
    std::optional<look_axis> value_token_nats = {};
    bool hits = false;
    std::size_t entries() const { return 2U + (value_token_nats ? 1U : 0U) + (hits ? 1U : 0U); }
    bool operator==(const look_frame&) const = default;
};

/// The only thing that a look tells. There is none without the charge that paid for it.
struct look_release {
    look_charge charged;
    look_frame frame;
    std::vector<double> numbers;  ///< frame.entries(): the noised sum, not divided
};

class look_sum {
  public:
    explicit look_sum(const look_frame& frame);
    /// A loss that is not finite counts as one beyond all that are.
    void add(const unit_look& of_unit);
    /// A made-up unit of an audit, whose vector is given.
    void add_vector(std::vector<double> vector);
    /// Without noise, of all so far.
    std::vector<double> exact() const;
    /// How many so far were shortened, and how many there are: for the owner's eyes.
    std::int64_t shortened() const { return shortened_; }
    std::int64_t units() const { return units_; }
    /// The sum with the noise that was charged, from the stream (key, purpose::look, look): once.
    look_release finish(const look_charge& charged, const run_key& key);

  private:
    look_frame frame_;
    std::vector<std::int64_t> sum_;  ///< in steps of 2⁻³⁶, each unit's rounded towards zero: exact, without an order
    std::int64_t shortened_ = 0, units_ = 0;
    bool finished_ = false;
};

/// A figure and the half-width of its interval at 95 % for the noise alone, about the mean of the units looked at, each
/// as it was shortened.
struct noised_figure {
    double value = 0, within = 0;
};
struct look_figures {
    noised_figure nats;
    std::optional<noised_figure> value_token_nats, hits;
};
/// Post-processing. The noise of the number of units counts, too (by the delta method).
look_figures decode_figures(const look_release& released);

/// What decode_figures() says of `units` units whose means lie `off` of a reach from the centre, before anything runs:
/// the half-width, in units of the axis' reach.
double expected_within(double noise_multiplier, double units, double off = 0);

/// A look's numbers as one line of JSON, and back with its charge. Errors: bad_input for anything else, and for numbers
/// that the charge did not pay for.
std::string to_json(const look_release& released);
look_release look_from(const std::string& json, const ledger_content& ledger);

}  // namespace rldp::privacy

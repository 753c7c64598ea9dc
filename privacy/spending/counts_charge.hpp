#pragma once
// What noised counts over all units of a table cost, and their entry in its budget book (docs/privacy.md §16).
#include <filesystem>
#include <string>

#include "base/unit_sketch.hpp"

namespace rldp::privacy {

/// Of one Gaussian release of sums in which a unit's part has norm 1 at most.
struct counts_price {
    double noise_multiplier = 0;  ///< deviation over that norm
    double selection_delta = 0;   ///< of δ: that what one unit alone has is named; 0 where nothing is selected
};

/// The least noise that meets (ε, δ). `selects`: whether values are named that no list has; half of δ is for that.
/// Errors: bad_input for ε not finite and above 0, and δ outside (0, 1).
counts_price price_counts(double epsilon, double delta, bool selects);

/// What a book needs to know of it.
struct counts_claim {
    std::string what;  ///< "domains for patients.template.json"
    std::string unit;  ///< "record", or a column
    double epsilon = 0, delta = 0;
    bool selects = false;
    unit_sketches sketches = {};  ///< of the table
};

/// Proof that counts are paid for: noise is added for one, and for nothing else.
class counts_charge {
  public:
    const counts_price& price() const { return price_; }

  private:
    explicit counts_charge(const counts_claim& claim)
        : price_(price_counts(claim.epsilon, claim.delta, claim.selects)) {}
    friend counts_charge enter_counts(const std::filesystem::path&, const counts_claim&);
    friend counts_charge charge_without_book(const counts_claim&);
    counts_price price_;
};

/// Enters it, and makes the book where there is none. Errors: as enter_run.
counts_charge enter_counts(const std::filesystem::path& directory, const counts_claim& claim);

/// Of made-up tables, and where the owner keeps no book: nobody adds it up.
counts_charge charge_without_book(const counts_claim& claim);

}  // namespace rldp::privacy

#pragma once
// The only way around the door, for privacy.semantics "as_published": a reproduction aid without any guarantee.
#include "privacy/release.hpp"

namespace rldp::privacy {

/// Exists only where the user wrote "acknowledge_no_guarantee": true.
class acknowledgement {
  public:
    /// Errors: bad_input naming privacy.acknowledge_no_guarantee if `given` is false.
    explicit acknowledgement(bool given);
};

/// Puts raw statistics of the batch into a release, unprotected.
void declassify_unsound(const acknowledgement&, const raw_statistics& raw, release& into);

}  // namespace rldp::privacy

#include "privacy/mechanism/declassify_unsound.hpp"

#include "base/error.hpp"

namespace rldp::privacy {

acknowledgement::acknowledgement(bool given) {
    if (given) return;
    refuse(
        "privacy.acknowledge_no_guarantee: semantics \"as_published\" opens unprotected values and needs true here; or "
        "choose \"sound\"");
}

void declassify_unsound(const acknowledgement&, const raw_statistics& raw, release& into) {
    into.unsound = raw;
}

}  // namespace rldp::privacy

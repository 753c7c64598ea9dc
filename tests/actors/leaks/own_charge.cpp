// Must not build: only a ledger makes a charge, so no step can be ordered that was not paid for.
#include "privacy/spending/ledger.hpp"

rldp::privacy::charge made() {
    return rldp::privacy::charge(rldp::privacy::ledger_line{1, 1, 0.001, 0.01, {}, {}, {}});
}

// Must not build: an order whose seq and noise multiplier are somebody's own numbers.
#include "privacy/mechanism/step_order.hpp"

rldp::privacy::step_order made() {
    rldp::privacy::step_order out;
    return out;
}

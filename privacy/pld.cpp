#include "privacy/pld.hpp"

#include "config/error.hpp"

namespace rldp::privacy {
std::unique_ptr<accountant> make_pld(double) {
    refuse("accountant pld is not available yet; use rdp");
}
}  // namespace rldp::privacy

// Must not build: a release without the charge that paid for it.
#include "privacy/release.hpp"

rldp::privacy::release made() {
    return {};
}

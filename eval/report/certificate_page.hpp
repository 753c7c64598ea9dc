#pragma once
// public/certificate.html: one screen that a data protection officer understands without mathematics
// (docs/privacy.md §10).
#include <string>

#include "privacy/spending/certificate.hpp"

namespace rldp::eval {

/// The page of a certificate, a function of its contract, run, program and signer alone: its own digest is part of the
/// certificate.
std::string certificate_page(const privacy::certificate& made);

}  // namespace rldp::eval

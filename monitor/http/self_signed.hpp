#pragma once
// A certificate of one's own, to be pinned by its fingerprint; and tokens.
#include <filesystem>
#include <string>

namespace rldp::monitor {

/// Makes PATH.pem and PATH.key (PEM, the key of mode 0600; ECDSA on P-256), valid for `host`, a name or an address, and
/// for two years. Answers the certificate's SHA-256 fingerprint, as curl and browsers write it. Errors: bad_input for
/// files that are there already and a host that is neither; storage_error.
std::string make_self_signed(const std::filesystem::path& path, const std::string& host);

/// Writes a file of mode 0600 with a viewer's and an operator's token, 256 random bits each (access.hpp). Errors:
/// bad_input where it is there already; storage_error.
void make_tokens(const std::filesystem::path& file);

}  // namespace rldp::monitor

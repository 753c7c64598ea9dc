#pragma once
// Only for sources. How connections are encrypted.
#include <boost/asio/ssl/context.hpp>

#include "monitor/http/server.hpp"

namespace rldp::monitor {

/// TLS 1.2 and later, of a certificate and its key; peers must show a certificate of `client_authority` where that is
/// given. Errors: bad_input, one line, for files that can't be read, a key that is another certificate's, and a
/// certificate that has expired or is not valid yet.
boost::asio::ssl::context tls_context(const tls_files& files);

}  // namespace rldp::monitor

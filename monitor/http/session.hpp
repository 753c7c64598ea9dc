#pragma once
// Only for sources. Connections: how they are encrypted, and how their requests are read and answered.
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "monitor/http/access.hpp"
#include "monitor/http/router.hpp"
#include "monitor/http/server.hpp"

namespace rldp::monitor {

// TLS. How connections are encrypted.

/// TLS 1.2 and later, of a certificate and its key; peers must show a certificate of `client_authority` where that is
/// given. Errors: bad_input, one line, for files that can't be read, a key that is another certificate's, and a
/// certificate that has expired or is not valid yet.
boost::asio::ssl::context tls_context(const tls_files& files);

// Session. One connection: requests are read within limits, answered one after the other, or followed by events.

/// What a server knows of a connection, whichever way it is encrypted.
class session {
  public:
    virtual ~session() = default;
    virtual void start() = 0;
    virtual void close() = 0;
    virtual bool is_open() const = 0;
    /// Whether nothing is on its way out.
    virtual bool is_idle() const = 0;
    /// Sends rows that changed, once what is under way is out: of each run the latest.
    virtual void show(const std::string& run, const std::shared_ptr<const std::string>& event) = 0;
    virtual void beat() = 0;
    /// Whether it asked for events since this was asked last: it knows no run yet, and takes none before.
    virtual bool begins_watching() = 0;
};

std::shared_ptr<session> plain_session(boost::asio::ip::tcp::socket peer, router& answers, const http_limits& limits);
std::shared_ptr<session> tls_session(boost::asio::ip::tcp::socket peer, boost::asio::ssl::context& tls, router& answers,
                                     const http_limits& limits);

}  // namespace rldp::monitor

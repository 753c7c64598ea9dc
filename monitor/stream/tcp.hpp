#pragma once
// Only for sources: whoever includes this reads Boost.Asio.
#include <boost/asio/ip/tcp.hpp>

#include "config/base/error.hpp"
#include "monitor/stream/endpoint.hpp"

namespace rldp::monitor {

/// "localhost" is 127.0.0.1, for those who listen and those who connect alike. Errors: bad_input for any other address
/// than the loopback's.
inline boost::asio::ip::tcp::endpoint to_tcp(const endpoint& where) {
    boost::system::error_code wrong;
    const auto address = boost::asio::ip::make_address(where.host == "localhost" ? "127.0.0.1" : where.host, wrong);
    if (wrong || !address.is_loopback()) refuse("monitor.address: " + where.host + " is not this machine's loopback");
    return {address, where.port};
}

}  // namespace rldp::monitor

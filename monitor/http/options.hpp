#pragma once
// How a server is asked for: on a command line, or by the keys monitor.* of a configuration.
#include <string>
#include <vector>

#include "monitor/http/server.hpp"

namespace rldp::monitor {

struct http_options {
    std::string address = {};                                                        ///< [HOST:]PORT
    std::string certificate = {}, key = {}, client_authority = {}, token_file = {};  ///< paths; empty: none
    std::vector<std::string> hosts = {};                                             ///< http_config's
};

/// Of a dashboard. The address is "8787", "0.0.0.0:8787", "[::1]:8787". Errors: bad_input for an address that is none,
/// a certificate without a key or the reverse, an authority without both.
http_config to_dashboard_config(const http_options& given);

/// Of what `rldp monitor` attaches to, "127.0.0.1:4242": this machine's alone. Errors: bad_input for anything but a
/// loopback HOST:PORT.
http_config to_monitor_config(const std::string& address);

}  // namespace rldp::monitor

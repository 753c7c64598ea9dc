#include "monitor/http/options.hpp"

#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "config/base/error.hpp"
#include "monitor/http/address.hpp"

namespace rldp::monitor {

namespace {

/// A port alone is the loopback's.
std::optional<std::pair<std::string, std::uint16_t>> parsed(std::string_view text) {
    if (const auto port = parse_port(text)) return std::pair(http_config{}.host, *port);
    const auto parts = split_host(text);
    if (!parts || !parts->port || parts->host.empty()) return std::nullopt;
    return std::pair(without_brackets(parts->host), *parts->port);
}

}  // namespace

http_config to_dashboard_config(const http_options& given) {
    const auto where = parsed(given.address);
    if (!where)
        refuse("dashboard: '" + given.address +
               "' is not [HOST:]PORT with a port of 1 to 65535; for example 8787 or [::1]:8787");
    http_config out;
    std::tie(out.host, out.port) = *where;
    out.hosts = given.hosts;
    if (given.certificate.empty() != given.key.empty())
        refuse("dashboard: a TLS certificate and its key are a pair; give both, or neither");
    if (!given.certificate.empty()) out.tls = tls_files{given.certificate, given.key, {}};
    if (!given.client_authority.empty()) {
        if (!out.tls) refuse("dashboard: clients' certificates are of TLS; give a certificate and its key, too");
        out.tls->client_authority = given.client_authority;
    }
    if (!given.token_file.empty()) out.token_file = given.token_file;
    return out;
}

http_config to_monitor_config(const std::string& address) {
    http_config out;
    out.asked_by = "monitor.address";
    const auto parts = split_host(address);
    if (!parts || !parts->port)
        refuse("monitor.address: '" + address +
               "' is not HOST:PORT with a port of 1 to 65535; for example 127.0.0.1:4242");
    out.host = without_brackets(parts->host);
    out.port = *parts->port;
    if (!is_loopback(out.host))
        refuse("monitor.address: " + out.host +
               " is not this machine's loopback; use 127.0.0.1, or --dashboard (monitor.http), which others can reach "
               "over TLS (docs/monitoring.md)");
    return out;
}

}  // namespace rldp::monitor

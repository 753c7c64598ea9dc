#include "monitor/http/options.hpp"

#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "config/base/error.hpp"
#include "monitor/stream/endpoint.hpp"

namespace rldp::monitor {

namespace {

/// A port alone is the loopback's.
std::optional<std::pair<std::string, std::uint16_t>> parsed(std::string_view text) {
    if (const auto port = port_from(text)) return std::pair(http_config{}.host, *port);
    const auto parts = split_host(text);
    if (!parts || !parts->port || parts->host.empty()) return std::nullopt;
    const auto host = parts->host.starts_with('[') ? parts->host.substr(1, parts->host.size() - 2) : parts->host;
    return std::pair(std::string(host), *parts->port);
}

}  // namespace

http_config config_of(const http_options& given) {
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

}  // namespace rldp::monitor

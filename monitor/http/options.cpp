#include "monitor/http/options.hpp"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "config/base/error.hpp"

namespace rldp::monitor {

namespace {

std::optional<std::pair<std::string, std::uint16_t>> parsed(std::string_view text) {
    const auto colon = text.rfind(':');
    const auto digits = text.substr(colon == std::string_view::npos ? 0 : colon + 1);
    std::uint16_t port = 0;
    const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (wrong != std::errc{} || end != digits.data() + digits.size() || port == 0) return std::nullopt;
    if (colon == std::string_view::npos) return std::pair(http_config{}.host, port);
    auto host = text.substr(0, colon);
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) host = host.substr(1, host.size() - 2);
    if (host.empty() || (!bracketed && host.find(':') != std::string_view::npos)) return std::nullopt;
    return std::pair(std::string(host), port);
}

}  // namespace

bool is_http_address(const std::string& text) {
    return parsed(text).has_value();
}

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

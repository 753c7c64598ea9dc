#include "monitor/http/address.hpp"

#include <boost/asio/ip/address.hpp>
#include <charconv>

namespace rldp::monitor {

std::optional<std::uint16_t> parse_port(std::string_view digits) {
    std::uint16_t port = 0;
    const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (wrong != std::errc{} || end != digits.data() + digits.size() || port == 0) return std::nullopt;
    return port;
}

std::optional<host_and_port> split_host(std::string_view text) {
    const auto colon = text.rfind(':');
    host_and_port out{text, std::nullopt};
    if (colon != std::string_view::npos && text.find(']', colon) == std::string_view::npos) {
        out = {text.substr(0, colon), parse_port(text.substr(colon + 1))};
        if (!out.port) return std::nullopt;
    }
    const bool bracketed = out.host.starts_with('[') && out.host.ends_with(']');
    if (!bracketed && out.host.find(':') != std::string_view::npos) return std::nullopt;
    return out;
}

std::string without_brackets(std::string_view host) {
    return std::string(host.starts_with('[') ? host.substr(1, host.size() - 2) : host);
}

std::string with_brackets(const std::string& host) {
    return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

bool is_loopback(const std::string& host) {
    boost::system::error_code wrong;
    return host == "localhost" || (boost::asio::ip::make_address(host, wrong).is_loopback() && !wrong);
}

}  // namespace rldp::monitor

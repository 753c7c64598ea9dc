#include <sodium.h>
#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "monitor/http/access.hpp"

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

namespace {

constexpr std::size_t token_digits = 64;  // 256 bits in hex

bool is_token(std::string_view text) {
    return text.size() == token_digits && std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

bool same(std::string_view known, std::string_view given) {
    return given.size() == token_digits && sodium_memcmp(known.data(), given.data(), token_digits) == 0;
}

bool same_name(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

tokens tokens::load(const std::filesystem::path& file) {
    if ((input_file(file).permissions() & 077U) != 0)
        refuse(file.string() + ": others than its owner may read it; chmod 600 it");
    std::istringstream lines(read_text(file));
    tokens out;
    std::string who, token;
    while (lines >> who >> token) {
        auto& place = who == "operator" ? out.operator_ : out.viewer;
        if ((who != "viewer" && who != "operator") || !is_token(token) || !place.empty())
            refuse(file.string() +
                   ": is no file of tokens: lines viewer and operator, 64 hex digits each; make one with "
                   "rldp key new --tokens FILE");
        place = token;
    }
    if (out.viewer.empty()) refuse(file.string() + ": has no viewer's token; make one with rldp key new --tokens FILE");
    return out;
}

access_rules::access_rules(std::optional<tokens> known, std::vector<std::string> hosts)
    : known_(std::move(known)), hosts_(std::move(hosts)) {}

role access_rules::of(std::string_view token) const {
    if (!known_) return role::viewer;
    const bool viewer = same(known_->viewer, token);
    const bool operates = !known_->operator_.empty() && same(known_->operator_, token);
    return operates ? role::operator_ : viewer ? role::viewer : role::nobody;
}

bool access_rules::is_ours(std::string_view host) const {
    const auto parts = split_host(host);
    return parts &&
           std::any_of(hosts_.begin(), hosts_.end(), [&](const auto& one) { return same_name(one, parts->host); });
}

}  // namespace rldp::monitor

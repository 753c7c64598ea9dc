#include "monitor/http/access.hpp"

#include <sodium.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "config/base/error.hpp"
#include "config/base/input_file.hpp"
#include "monitor/http/address.hpp"

namespace rldp::monitor {

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

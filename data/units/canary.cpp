#include "data/units/canary.hpp"

#include <fmt/format.h>

#include "config/base/limits.hpp"
#include "data/units/split.hpp"

namespace rldp::data {

namespace {

/// The first `count` units that `wanted` takes.
template <class Wanted>
std::vector<unit> first(const std::vector<unit>& units, std::int64_t count, Wanted wanted) {
    std::vector<unit> out;
    for (const auto& u : units) {
        if (std::ssize(out) == count) break;
        if (wanted(u)) out.push_back(u);
    }
    return out;
}

}  // namespace

std::string up_to_secret(const std::string& record) {
    return record + " secret_id=";
}

std::string with_secret(const std::string& record, const std::string& secret) {
    return up_to_secret(record) + secret + ".";
}

std::vector<std::string> make_secrets(std::int64_t seed, std::string_view kind, std::int64_t count,
                                         std::int64_t length) {
    const identity_hasher hash(seed);
    std::vector<std::string> out;
    for (std::int64_t i = 0; i < count; ++i)
        out.push_back(hash(kind, fmt::format("{}", i)).secret().substr(0, static_cast<std::size_t>(length)));
    return out;
}

std::int64_t count_of_secrets(std::int64_t length) {
    std::int64_t out = 1;
    for (std::int64_t i = 0; i < length; ++i) out *= std::ssize(secret_symbols);
    return out;
}

std::vector<std::string> all_secrets(std::int64_t length) {
    std::vector<std::string> out{""};
    for (std::int64_t i = 0; i < length; ++i) {
        std::vector<std::string> longer;
        for (const auto& begun : out)
            for (const char symbol : secret_symbols) longer.push_back(begun + symbol);
        out = std::move(longer);
    }
    return out;
}

audit_pool choose_audit_pool(const corpus& from, const audit_rule& rule) {
    audit_pool out;
    out.members = first(from.train, rule.targets, [](const unit& u) { return !u.canary; });
    out.non_members = first(from.attack, rule.targets, [](const unit&) { return true; });
    std::uint64_t number = 0;
    for (const auto& secret : make_secrets(rule.seed, "audit canary", rule.canaries, limits::longest_secret))
        out.canaries.push_back({number++, {with_secret("", secret)}, secret});
    return out;
}

bool in_shadow(std::int64_t seed, std::int64_t shadow, std::uint64_t target) {
    return identity_hasher(seed)("shadow", fmt::format("{} {}", shadow, target)).side >> 63 != 0;
}

}  // namespace rldp::data

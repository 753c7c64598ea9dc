#include <fmt/format.h>
#include <fmt/ranges.h>  // fmt::join
#include <sodium.h>

#include <atomic>
#include <utility>

#include "base/error.hpp"
#include "base/kinds.hpp"
#include "data/sources/records.hpp"
#include "data/units/corpus.hpp"
#include "data/units/split_and_sampling.hpp"
#include "data/units/split_assignment.hpp"

namespace rldp::data {

text_digest compute_digest(std::string_view text) {
    text_digest out;
    crypto_generichash(out.data(), out.size(), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                       nullptr, 0);
    return out;
}

struct units_digest::state {
    crypto_hash_sha256_state sum;
};

units_digest::units_digest() : state_(new state) {
    crypto_hash_sha256_init(&state_->sum);
}
units_digest::~units_digest() = default;

void units_digest::add_unit(std::size_t records) {
    const auto text = fmt::format("{}:", records);
    crypto_hash_sha256_update(&state_->sum, reinterpret_cast<const unsigned char*>(text.data()), text.size());
}

void units_digest::add_record(const text_digest& text) {
    crypto_hash_sha256_update(&state_->sum, text.data(), text.size());
}

std::string units_digest::finish() {
    std::array<unsigned char, crypto_hash_sha256_BYTES> bytes;
    crypto_hash_sha256_final(&state_->sum, bytes.data());
    return fmt::format("{:02x}", fmt::join(bytes, ""));
}

void check_cut(std::int64_t max_tokens, int threads) {
    require(max_tokens >= 2, "a record is cut to 2 tokens or more");
    require(threads >= 1, "records are tokenised by at least one thread");
}

bool cut_to(std::vector<std::int32_t>& tokens, std::int64_t max_tokens, bool keep_tail) {
    const auto most = static_cast<std::size_t>(max_tokens);
    if (tokens.size() <= most) return false;
    if (keep_tail)
        tokens.erase(tokens.begin(), tokens.end() - max_tokens);
    else
        tokens.resize(most);
    return true;
}

tokenised tokenise(const std::vector<unit>& units, const encoder& encode, std::int64_t max_tokens, bool keep_tail,
                   int threads) {
    check_cut(max_tokens, threads);
    tokenised out;
    out.units.resize(units.size());
    std::atomic<std::int64_t> records{0}, cut{0};
    in_parallel(threads, units.size(), [&](std::size_t, std::size_t i) {
        for (const auto& record : units[i].records) {
            auto ids = encode(record);
            ++records;
            if (cut_to(ids, max_tokens, keep_tail)) ++cut;
            if (ids.size() >= 2) out.units[i].records.push_back(std::move(ids));
        }
    });
    out.records = records;
    out.cut = cut;
    return out;
}

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

std::vector<unit> make_audit_canaries(std::int64_t seed, std::int64_t count) {
    std::vector<unit> out;
    for (const auto& secret : make_secrets(seed, "audit canary", count, limits::longest_secret))
        out.push_back({out.size(), {with_secret("", secret)}, secret});
    return out;
}

bool in_shadow(std::int64_t seed, std::int64_t shadow, std::uint64_t target) {
    return identity_hasher(seed)("shadow", fmt::format("{} {}", shadow, target)).side >> 63 != 0;
}

}  // namespace rldp::data

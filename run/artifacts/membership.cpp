#include "run/artifacts/membership.hpp"

#include <sodium.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/files.hpp"
#include "privacy/keys/digest.hpp"

namespace rldp::eval {

std::string fresh_salt() {
    std::array<unsigned char, crypto_auth_hmacsha256_KEYBYTES> bytes;
    randombytes_buf(bytes.data(), bytes.size());
    std::array<char, 2 * bytes.size() + 1> hex;
    return sodium_bin2hex(hex.data(), hex.size(), bytes.data(), bytes.size());
}

std::string data_hmac(const std::string& salt, const std::string& digest) {
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, reinterpret_cast<const unsigned char*>(salt.data()), salt.size());
    crypto_auth_hmacsha256_update(&state, reinterpret_cast<const unsigned char*>(digest.data()), digest.size());
    std::array<unsigned char, crypto_auth_hmacsha256_BYTES> tag;
    crypto_auth_hmacsha256_final(&state, tag.data());
    std::array<char, 2 * tag.size() + 1> hex;
    return sodium_bin2hex(hex.data(), hex.size(), tag.data(), tag.size());
}

namespace {

/// The key of a run is gone by the time that this is read: a checksum tells damage, not forgery.
std::string compute_checksum(const nlohmann::ordered_json& record) {
    return privacy::sha256(record.dump());
}

}  // namespace

std::string to_json(const membership_record& record) {
    nlohmann::ordered_json out = {
        {"salt", record.salt}, {"data_hmac", record.data_hmac}, {"canaries", nlohmann::json::array()}};
    for (const auto& [unit, secret] : record.planted) out["canaries"].push_back({{"unit", unit}, {"canary", secret}});
    out["audit_canaries_in"] = record.canary_in;
    out["audit_gradient_canaries_in"] = record.gradient_canary_in;
    out["audit_look_canaries_in"] = record.look_canary_in;
    out["checksum"] = compute_checksum(out);
    return out.dump() + "\n";
}

membership_record read_membership(const std::filesystem::path& path) {
    return membership_from(read_text(path), path.string());
}

membership_record membership_from(const std::string& text, const std::string& origin) {
    try {
        auto read = nlohmann::ordered_json::parse(text);
        const auto checksum = read.at("checksum").get<std::string>();
        read.erase("checksum");
        if (checksum != compute_checksum(read)) refuse(origin + ": is damaged; bring back the run's own file");
        membership_record out{.data_hmac = read.at("data_hmac"),
                              .salt = read.at("salt"),
                              .planted = {},
                              .canary_in = {},
                              .gradient_canary_in = {},
                              .look_canary_in = {}};
        for (const auto& canary : read.at("canaries")) out.planted.push_back({canary.at("unit"), canary.at("canary")});
        out.canary_in = read.at("audit_canaries_in").get<std::vector<bool>>();
        out.gradient_canary_in = read.at("audit_gradient_canaries_in").get<std::vector<bool>>();
        if (read.contains("audit_look_canaries_in"))  // earlier versions had none
            out.look_canary_in = read["audit_look_canaries_in"].get<std::vector<bool>>();
        return out;
    } catch (const nlohmann::json::exception& reason) {
        const std::string what = reason.what();
        refuse(origin + ": " + what.substr(what.find("] ") + 2) + "; bring back the run's own file");
    }
}

}  // namespace rldp::eval

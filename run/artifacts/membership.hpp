#pragma once
// trusted/membership.json: who was in a run's training data, written before its first step, for its audit.
#include <filesystem>
#include <string>
#include <vector>

namespace rldp::eval {

struct membership_record {
    std::string data_hmac;  ///< of the training units, canaries of the audit apart, under `salt`
    std::string salt;       ///< hex; a key of its own, for the run key is erased at the end
    struct planted_secret {
        std::string unit, secret;  ///< hex id; [A-Z0-9]
    };
    std::vector<planted_secret> planted;  ///< data.canaries
    /// Which of audit.canaries, audit.gradient_canaries, audit.look_canaries.
    std::vector<bool> canary_in, gradient_canary_in, look_canary_in;
};

/// How a record names the training units of that digest (data::corpus).
std::string data_hmac(const std::string& salt, const std::string& digest);
/// 32 random bytes in hex.
std::string fresh_salt();

std::string to_json(const membership_record& record);
/// Errors: bad_input naming `origin` and the key.
membership_record membership_from(const std::string& text, const std::string& origin);
membership_record read_membership(const std::filesystem::path& path);

}  // namespace rldp::eval

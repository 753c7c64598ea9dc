#pragma once
// trusted/membership.json: who was in a run's training data, written before its first step, for its audit.
#include <filesystem>
#include <string>
#include <vector>

namespace rldp::eval {

struct membership_record {
    std::string digest;  ///< of the training units, canaries of the audit apart (data::corpus)
    struct planted_secret {
        std::string unit, secret;  ///< hex id; [A-Z0-9]
    };
    std::vector<planted_secret> planted;              ///< data.canaries
    std::vector<bool> canary_in, gradient_canary_in;  ///< which of audit.canaries, audit.gradient_canaries
};

std::string to_json(const membership_record& record);
/// Errors: bad_input naming file and key.
membership_record read_membership(const std::filesystem::path& path);

}  // namespace rldp::eval

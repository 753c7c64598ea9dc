#pragma once
// What preparation leaves behind: a rule, a frozen normaliser, an actor's weights and a guard, in one small file; and
// what a report says of it.
#include <ATen/core/Tensor.h>
#include <nlohmann/json_fwd.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "privacy/keys/signing_key.hpp"
#include "rl/prepared/environment.hpp"
#include "rl/prepared/residual.hpp"

namespace rldp::models {
class safetensors_file;
}

namespace rldp::rl {

struct prepared_parts {
    schedule fixed;             ///< that the rule and the residual were found around
    schedule best_fixed;        ///< the best that nothing steers: what remains where the gate was not passed
    bool passed = false;        ///< the gate
    std::int64_t interval = 0;  ///< steps between its decisions; what signals it knows depends on it
    rule how;
    timetable usual;  ///< the mean of its own log rates over tasks: what it would set that heard nothing
    frozen_normaliser normaliser;
    residual_guard guard;
    std::int64_t hidden = 0;
    at::Tensor actor;            ///< float32, of set_networks(hidden)
    std::string figures = "{}";  ///< a JSON object: families, seeds, the gate; what a report says of the policy
};

class prepared_policy {
  public:
    static constexpr std::int64_t version = 3;
    static constexpr std::uintmax_t largest_file = 1 << 20;  ///< bytes

    explicit prepared_policy(prepared_parts parts);

    /// Takes well under a millisecond; nothing is remembered.
    policy_action act(const policy_observation& seen) const;
    /// The part of the residual that acts, in [0, 1].
    double trust(const policy_observation& seen) const { return parts_.guard.part(parts_.normaliser(seen)); }
    const prepared_parts& parts() const { return parts_; }
    std::string digest() const;  ///< SHA-256 of all that it is, in hex

    /// In place of any signature before: whoever has this key vouches for the digest.
    void sign(const privacy::signing_key& key);
    /// Whose signature it bears; none where nobody signed it.
    std::optional<privacy::verifying_key> signer() const;

    /// One safetensors file with its JSON beside the weights, whole or absent.
    void save(const std::filesystem::path& path) const;
    /// Errors: bad_input naming the file, for another version, other actions or features, a signature that is not of
    /// this policy, and a file that is damaged or larger than any policy.
    static prepared_policy load(const std::filesystem::path& path);
    /// The one that is part of the program: config/policies/language.safetensors (docs/controller.md).
    static prepared_policy shipped();

  private:
    static prepared_policy read(const models::safetensors_file& file, const std::string& origin);

    struct signature {
        privacy::verifying_key by;
        std::string hex;
    };

    prepared_parts parts_;
    set_networks nets_;
    std::optional<signature> signature_;
};

// Description. What a report says of a prepared policy: where it comes from, what it won there, and whether it steers.

/// Plain sentences. Figures that the file lacks are left out.
std::vector<std::string> describe_policy(const prepared_policy& of);

/// Least and most of what a preparation's plans had: "seen" of its figures.
struct plan_ranges {
    std::array<double, 2> blocks = {}, noise = {}, adapters = {}, bands = {};

    static plan_ranges of(std::span<const known_plan> plans, std::int64_t interval);  ///< of one plan at least
};
nlohmann::json to_json(const plan_ranges& of);

/// Why nobody vouches for it, whatever the run: it did not pass its gate, or that knows no language models.
std::optional<std::string> doubt_policy(const prepared_policy& of);

/// Why its preparation says nothing of such a run: a sentence each; none where it has seen the like.
std::vector<std::string> list_warnings(const prepared_policy& of, const known_plan& plan);

}  // namespace rldp::rl

#pragma once
// trusted/checkpoint.safetensors: everything on the public side that acts, so that a run goes on as if it had not
// stopped.
#include <filesystem>
#include <optional>
#include <string>

#include "actors/run/outcome.hpp"
#include "privacy/keys/seal.hpp"
#include "privacy/spending/ledger.hpp"
#include "rl/training.hpp"

namespace rldp::actors {

struct checkpoint {
    rl::training::state training;
    std::string controller;        ///< bytes; empty where there is no controller
    privacy::ledger_mark charged;  ///< the ledger's end when it was written
    std::string
        belongs_to;  ///< hash of the ledger's header and the configuration it was made under, and of the model's files
    std::optional<snapshot> evaluating = {};  ///< an adapter whose evaluation was not over
};

/// With a seal over everything in it.
void write_checkpoint(const std::filesystem::path& path, const checkpoint& value, const privacy::file_seal& seal);
/// Errors: bad_input naming file and key; also where a bit of it is not as it was sealed.
checkpoint read_checkpoint(const std::filesystem::path& path, const privacy::file_seal& seal);

}  // namespace rldp::actors

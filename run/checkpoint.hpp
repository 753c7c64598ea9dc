#pragma once
// What a run goes on from: its sealed files, its run log and its checkpoint.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "privacy/keys/seal.hpp"
#include "privacy/spending/ledger.hpp"
#include "run/artifacts/metrics.hpp"
#include "run/artifacts/run_directory.hpp"
#include "run/outcome.hpp"
#include "run/train/training.hpp"

namespace rldp::actors {

// Sealed tensors. Tensors and texts in a safetensors file that nobody but this run can have written.

struct sealed_tensors {
    std::map<std::string, at::Tensor> tensors;
    std::map<std::string, std::string> texts;  ///< no key "seal"
};

/// `kind` goes into the seal: a file of another kind is not taken for this one.
void write_sealed(const std::filesystem::path& path, const std::string& kind, sealed_tensors value,
                  const privacy::file_seal& seal);
/// Tensors on the CPU, contiguous. Errors: bad_input naming the path for a file that is missing, damaged, of another
/// run or another kind.
sealed_tensors read_sealed(const std::filesystem::path& path, const std::string& kind, const privacy::file_seal& seal);

// Known lines. The run log of a run that goes on.

/// Its lines as they stood, to the checkpoint's step: the later ones are made again, these can't be. `accept_lost`:
/// empty ones stand for those that are gone. Errors: bad_input naming the first that is damaged, another run's or gone.
std::vector<eval::metrics_line> known_lines(const eval::run_directory& where, const privacy::ledger_content& ledger,
                                            std::int64_t checkpointed, bool accept_lost);

bool has_evaluation(const std::vector<eval::metrics_line>& lines, std::int64_t step);
evaluations evaluations_in(const std::vector<eval::metrics_line>& lines);

// Checkpoint. trusted/checkpoint.safetensors: everything on the public side that acts, so that a run goes on as if it
// had not stopped.

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

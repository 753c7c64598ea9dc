#pragma once
// How much memory a run takes, from public numbers, before anything is read.
#include <cstdint>
#include <optional>
#include <string>

#include "config/config.hpp"
#include "config/open_keys.hpp"
#include "models/architecture/model_config.hpp"
#include "models/lora/layout.hpp"

namespace rldp::actors {

/// How a step's units share the processors, by public numbers alone.
struct lanes {
    int abreast = 1;               ///< chunks computed at a time
    int threads = 1;               ///< of each
    std::int64_t micro_batch = 1;  ///< records of a chunk's forward pass, at most
};

/// On the CPU as many chunks abreast as there are threads, each on one, where the batch has as many units and
/// train.micro_batch allows for as many records; else one after the other, on all threads. A narrow model's operators
/// are never shared out.
lanes lanes_of(const config::run_config& config, const models::model_config& model);

/// The peak, in bytes, by what takes them.
struct memory_need {
    std::int64_t program = 0;      ///< LibTorch, its threads and caches
    std::int64_t weights = 0;      ///< of the base, in model.dtype; mapped where the file has that type
    std::int64_t activations = 0;  ///< kept for the backward pass, of as many chunks as are computed at a time
    std::int64_t passing = 0;      ///< logits, and what a layer needs while it is computed, in training and evaluation
    std::int64_t adapter = 0;      ///< unit gradients, sums, noise, optimiser
    std::int64_t records = 0;      ///< their places and digests; the tokens stay on disk

    std::int64_t total() const { return program + weights + activations + passing + adapter + records; }
};

/// Of a configuration whose train.micro_batch is chosen, for `units` of at most `max_tokens` a record.
memory_need memory_of(const config::run_config& config, const models::model_config& model,
                      const models::lora_layout& layout, std::int64_t units, std::int64_t max_tokens);

/// The memory that the model is computed in: the card's, else this machine's.
struct memory_room {
    std::int64_t bytes = 0;
    std::string owner;  ///< "this machine", "the CUDA device"
};

/// Errors: models::card_of's.
memory_room room_of(const config::run_config& config);

/// Gives train.micro_batch, where it is open, the largest power of two up to 16 with which a run takes three quarters
/// of room_of() at most.
std::optional<config::choice> choose_micro_batch(config::run_config& config, const models::model_config& model,
                                                 const models::lora_layout& layout, std::int64_t units,
                                                 std::int64_t max_tokens);

}  // namespace rldp::actors

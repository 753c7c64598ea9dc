#pragma once
// How much memory a run takes, from public numbers, before anything is read.
#include <cstdint>
#include <optional>
#include <string>

#include "config/spec.hpp"
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
/// train.micro_batch allows for as many records; else, and with model.shard, one after the other, on all threads. A
/// narrow model's operators are never shared out.
lanes choose_lanes(const config::reading_spec& spec, const models::model_config& model,
                   std::int64_t expected_batch_size, std::int64_t micro_batch);

/// The peak, in bytes, by what takes them.
struct memory_need {
    std::int64_t program = 0;      ///< LibTorch, its threads and caches
    std::int64_t weights = 0;      ///< of the base, in model.dtype; mapped where the file has that type
    std::int64_t activations = 0;  ///< kept for the backward pass, of as many chunks as are computed at a time
    std::int64_t passing = 0;      ///< logits, and what a layer needs while it is computed, in training and evaluation
    std::int64_t adapter = 0;      ///< unit gradients, sums, noise, optimiser
    std::int64_t records = 0;      ///< their places and digests; tokens where they don't lie on a disk

    std::int64_t total() const { return program + weights + activations + passing + adapter + records; }
};

/// What a run's memory grows with, besides its model.
struct workload {
    std::int64_t population = 0, expected_batch_size = 0;
    std::int64_t max_tokens = 0;   ///< of a record
    std::int64_t micro_batch = 0;  ///< records of a forward pass
    std::int64_t ranks = 0;        ///< that share the base, with model.shard; 0: as many as may
    double course_bytes = 0;       ///< for each trained number: count_course_bytes()
};
/// What a run's bands, method, controller, average and optimizer keep and work with for each trained number, besides
/// AdamW's. noise.bands that are open count as one.
double count_course_bytes(const config::run_config& config);
memory_need estimate_memory(const config::reading_spec& spec, const models::model_config& model,
                            const models::lora_layout& layout, const workload& work);

/// The memory that the model is computed in: the card's, else this machine's.
struct memory_room {
    std::int64_t bytes = 0;
    std::string owner;  ///< "this machine", "the CUDA device"
};

/// Errors: models::find_card's.
memory_room find_room(const config::reading_spec& spec);

/// A run's least: one record a pass.
workload least_work(const config::reading_spec& spec, const models::model_config& model);

/// Whether each of so many ranks would hold fewer layers than there are, borrowed ones counted.
bool shares_well(const models::model_config& model, std::int64_t ranks);

/// Whether so many ranks of this machine can each hold the whole base: beside steps of least_work() a quarter of the
/// machine's memory, or of a rank's own device's, stays free. A base that is read `as_stored` (models::is_stored_as())
/// is there once. Open lora.targets count as chosen.
bool holds_whole_base(config::reading_spec spec, const models::model_config& model, std::int64_t ranks_here,
                      bool as_stored);

/// With model.shard the fewest ranks, each with such memory as is here, of which each holds its share and what its
/// steps need, a quarter left free; nothing where no number does.
std::optional<std::int64_t> find_least_ranks(const config::reading_spec& spec, const models::model_config& model,
                                             const models::lora_layout& layout, workload work);

/// Adapters on these modules. Errors: bad_input for a word that matches nothing.
models::lora_layout make_adapters(const config::reading_spec& spec, const models::model_config& model,
                                  const std::vector<std::string>& targets);

struct targets_choice {
    std::vector<std::string> targets;
    std::string reason;
};
/// For lora.targets, by public numbers: every linear module, or queries and values alone where a run of one record at a
/// time would take more than three quarters of find_room() otherwise.
targets_choice choose_targets(const config::reading_spec& spec, const models::model_config& model);

struct micro_batch_choice {
    std::int64_t count;
    std::string reason;
};
/// For train.micro_batch the largest power of two up to 16, or the number of threads, with which a run takes three
/// quarters of find_room() at most; the workload's own is not looked at.
micro_batch_choice choose_micro_batch(const config::reading_spec& spec, const models::model_config& model,
                                      const models::lora_layout& layout, workload work);

}  // namespace rldp::actors

#pragma once
// The values that local messages carry; plain structs without CAF.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/units/token_store.hpp"
#include "privacy/mechanism/sanitizer.hpp"
#include "privacy/mechanism/statistics.hpp"
#include "privacy/release.hpp"
#include "run/artifacts/metrics.hpp"
#include "run/outcome.hpp"
#include "run/train/steering.hpp"

namespace rldp::messages {

/// The units drawn for one step: tokens of training records, trusted wherever it travels.
struct draw {
    std::uint64_t seq = 0;
    std::shared_ptr<const data::token_store> store;  ///< where the tokens lie
    std::vector<data::unit_view> units;
};

/// What the trainer asks of the gradient actor: public numbers and the adapter to compute with, float32 [D], frozen.
struct step_task {
    privacy::step_order order;
    at::Tensor adapter;
};

/// The accountant's answer once a step is charged.
struct charged {
    privacy::charge charge;
    eval::progress_price progress = {};  ///< as last priced
};

/// What the hub needs to know of a run before its first step.
struct run_header {
    std::string metrics_path;  ///< with the lines that a resumed run already has
    std::int64_t steps = 0;
    double epsilon_budget = 0, epsilon_guaranteed = 0;
    std::vector<std::int64_t> awaited = {};  ///< steps of them whose evaluations are under way
    std::string header_hash = {};            ///< of its ledger
    std::string tensorboard = {};            ///< directory of its event file; empty: none is written
};

}  // namespace rldp::messages

#pragma once
// What rounding lets one unit do to others (docs/privacy.md §6): a probe that measures it, and a watch during the run.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "models/causal_lm.hpp"
#include "models/unit_gradients.hpp"
#include "privacy/mechanism/step_order.hpp"

namespace rldp::actors {

// Company probe. By how much one more unit in a draw moves the other units' clipped sum and statistics: other company
// in a micro-batch, other shapes, other last bits. In exact arithmetic by nothing (docs/privacy.md §6). Units are made
// up and the adapter is public, so what is found is, too.

struct rounding_effect {
    double gradient = 0;    ///< L2, in radii: the largest over groups
    double statistics = 0;  ///< L2, in sensitivities Δ
    void raise(const rounding_effect& other);
};

class company_probe {
  public:
    /// `apart`: every unit in passes of its own, as where computes_apart. Records of 2 to `longest` tokens.
    company_probe(std::shared_ptr<const models::causal_lm> model, models::lora_layout layout, bool apart,
                  std::int64_t micro_batch, std::int64_t longest, std::uint64_t seed);

    /// One draw of `batch` units and its neighbour with one more, at `adapter` [D] float32 on the model's device. Each
    /// call draws others. `shape`: the geometry that a step would clip in, of one group; null: the Euclidean.
    rounding_effect compare(const at::Tensor& adapter, std::size_t batch,
                            const std::shared_ptr<const privacy::geometry>& shape = {});

  private:
    /// What a draw's micro-batches leave, in order of the units: rows, or where tensors are trained whole, parts.
    struct company {
        at::Tensor gradients, losses;
        std::vector<std::pair<std::vector<std::size_t>, std::shared_ptr<const privacy::gradient_parts>>> parts;
    };

    std::vector<std::vector<models::sequence>> draw(std::size_t count);
    company computed(const at::Tensor& adapter, const std::vector<std::vector<models::sequence>>& held) const;
    /// [units, groups], in the geometry; of parts what the clipper takes for their norms.
    at::Tensor compute_norms(const company& of, const privacy::geometry* shape) const;
    at::Tensor compute_sum(const company& of, std::size_t left_out, const privacy::step_terms& terms) const;
    rounding_effect effect(const company& alone, const company& beside, std::size_t extra,
                           const std::shared_ptr<const privacy::geometry>& shape) const;

    std::shared_ptr<const models::causal_lm> model_;
    models::lora_layout layout_;
    bool apart_;
    std::int64_t micro_batch_, longest_;
    std::mt19937_64 random_;
    std::vector<privacy::segment> segments_;
};

// Rounding watch. Where rounding can't be ruled out by how units are computed (a CUDA device), it is looked at during
// the run: training moves the adapter, and with it what company does to a unit's last bits.

class company_probe;
struct session;

/// Called before the grant of `step` with the adapter that it will be computed at and the geometry that it will be
/// clipped in. Errors: failed where made-up units move each other by more than a fifth of what is charged, or by
/// anything where nothing is.
using rounding_watch = std::function<void(std::int64_t step, const at::Tensor& adapter,
                                          const std::shared_ptr<const privacy::geometry>& shape)>;

/// Empty where there is nothing to watch.
rounding_watch make_rounding_watch(const session& run);

/// The same of a probe, for a margin η.
rounding_watch watch_with(const std::shared_ptr<company_probe>& probe, std::int64_t every, double margin,
                          std::size_t batch);

}  // namespace rldp::actors

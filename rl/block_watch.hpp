#pragma once
// Looks at a run's releases block by block, and says of each adapter what they showed. Post-processing of releases.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "privacy/mechanism/step_order.hpp"
#include "rl/signs.hpp"

namespace rldp::rl {

class block_watch {
  public:
    /// `segments` divide the numbers into n adapters; `adapter` [D] as it is before the first step.
    block_watch(std::vector<privacy::segment> segments, const at::Tensor& adapter);

    /// A released gradient [D], and the standard deviations [n] of the noise on a number of each adapter: releases
    /// count in units of their own noise.
    void add(const at::Tensor& gradient, const std::vector<double>& deviations);
    /// A block is over, and `adapter` is what it led to. A block without releases leaves signal, cosine and along as
    /// they were.
    void close(const at::Tensor& adapter);
    const std::vector<adapter_features>& features() const { return features_; }  ///< [n], of the last block

    /// Everything that acts, for a checkpoint.
    at::Tensor tensors() const;   ///< float64 [4, D]
    std::string numbers() const;  ///< JSON
    /// Errors: bad_input where they are not those of as many numbers and groups.
    void restore(const at::Tensor& tensors, const std::string& numbers);

  private:
    std::vector<privacy::segment> segments_;
    at::Tensor sum_, last_sum_;  ///< float64 [D]: of this block, and of the last one that had releases
    at::Tensor last_moved_;      ///< how that last one moved the adapter, float64 [D]
    at::Tensor before_;          ///< the adapter before this block, float64 [D]
    std::int64_t releases_ = 0;
    std::vector<adapter_features> features_;
};

}  // namespace rldp::rl

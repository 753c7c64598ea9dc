#pragma once
// Looks at a run's releases block by block, and says of each adapter what they showed. Post-processing of releases.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "privacy/mechanism/sanitizer.hpp"
#include "rl/signs.hpp"

namespace rldp::rl {

class block_watch {
  public:
    /// `how` releases are noised, in n groups; `adapter` [D] as it is before the first step.
    block_watch(privacy::sanitizer_config how, const at::Tensor& adapter);

    /// `terms` of the release's step. Each release counts in units of its own noise.
    void add(const privacy::step_terms& terms, const privacy::release& value);
    /// A block is over, and `adapter` is what it led to. A block without releases leaves signal, cosine and along as
    /// they were.
    void close(const at::Tensor& adapter);
    const std::vector<adapter_signs>& signs() const { return signs_; }  ///< [n], of the last block

    /// Everything that acts, for a checkpoint.
    at::Tensor tensors() const;   ///< float64 [4, D]
    std::string numbers() const;  ///< JSON
    /// Errors: bad_input where they are not those of as many numbers and groups.
    void restore(const at::Tensor& tensors, const std::string& numbers);

  private:
    privacy::sanitizer_config how_;
    at::Tensor sum_, last_sum_;  ///< float64 [D]: of this block, and of the last one that had releases
    at::Tensor last_moved_;      ///< how that last one moved the adapter, float64 [D]
    at::Tensor before_;          ///< the adapter before this block, float64 [D]
    std::int64_t releases_ = 0;
    std::vector<adapter_signs> signs_;
};

}  // namespace rldp::rl

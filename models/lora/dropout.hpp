#pragma once
// Which inputs of an adapter are dropped. A record's mask is a function of the record's seed, the pair and the place
// in the record alone: neither its company in a micro-batch nor how far that is padded changes it.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace rldp::models {

/// What names a record's masks in one step: Philox's key, and a part of its counter.
struct mask_seed {
    std::uint64_t key = 0, counter = 0;
};

/// The masks of one micro-batch, made where they are used; the same bits on every device.
class dropout_masks {
  public:
    /// A seed for each record; `p`, in [0, 1), has a resolution of 2⁻¹⁶. Errors: bad_input for another p.
    dropout_masks(std::vector<mask_seed> seeds, double p, at::Device device);

    /// Of pair `pair`, whose input is [records, T, d]: bool of that shape, false with probability p.
    at::Tensor operator()(std::size_t pair, at::IntArrayRef shape) const;

  private:
    std::vector<mask_seed> seeds_;
    std::uint32_t threshold_;
    at::Tensor words_;  ///< on a device: the seeds, [4, records, 1] int64, each half of a word
};

}  // namespace rldp::models

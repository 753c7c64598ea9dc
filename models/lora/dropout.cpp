#include "models/lora/dropout.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "models/lora/philox.hpp"

namespace rldp::models {

namespace {

std::uint32_t low(std::uint64_t word) {
    return static_cast<std::uint32_t>(word);
}
std::uint32_t high(std::uint64_t word) {
    return static_cast<std::uint32_t>(word >> 32);
}

constexpr std::int64_t low_bits = 0xffffffff;
constexpr std::int64_t numbers_per_block = 8;

/// philox::at for int64 tensors that hold 32-bit words, broadcast to [records, blocks]: what a device has of
/// arithmetic.
std::array<at::Tensor, 4> philox_at(std::array<at::Tensor, 4> x, std::array<at::Tensor, 2> k) {
    const auto times = [](const at::Tensor& word, std::size_t which) {
        return at::mul(word, at::Scalar(std::int64_t{philox::multipliers[which]}));  // modulo 2⁶⁴
    };
    const auto next = [](const at::Tensor& product, const at::Tensor& word, const at::Tensor& key) {
        return product.bitwise_right_shift(32).bitwise_xor_(word).bitwise_xor_(key).bitwise_and_(low_bits);
    };
    for (int round = 0; round < philox::rounds; ++round) {
        const auto p0 = times(x[0], 0), p1 = times(x[2], 1);
        x = {next(p1, x[1], k[0]), p1, next(p0, x[3], k[1]), p0};  // of the products only the lower halves count
        for (std::size_t i = 0; i < 2; ++i) k[i] = (k[i] + std::int64_t{philox::key_steps[i]}).bitwise_and_(low_bits);
    }
    for (const std::size_t i : {1, 3}) x[i] = x[i].bitwise_and(low_bits);
    return x;
}

}  // namespace

dropout_masks::dropout_masks(std::vector<mask_seed> seeds, double p, at::Device device) : seeds_(std::move(seeds)) {
    refuse_unless(p >= 0 && p < 1, fmt::format("dropout must be in [0, 1), not {}", p));
    threshold_ = static_cast<std::uint32_t>(std::lround(p * 65536));
    if (device.is_cpu()) return;
    auto words = at::empty({4, std::ssize(seeds_), 1}, at::kLong);
    auto* const out = words.data_ptr<std::int64_t>();
    for (std::size_t i = 0; i < seeds_.size(); ++i) {
        const auto& seed = seeds_[i];
        std::size_t row = 0;
        for (const auto word : {low(seed.key), high(seed.key), low(seed.counter), high(seed.counter)})
            out[row++ * seeds_.size() + i] = word;
    }
    words_ = words.to(device, /*non_blocking=*/true);
}

at::Tensor dropout_masks::operator()(std::size_t pair, at::IntArrayRef shape) const {
    const at::NoGradGuard no_grad;
    require(shape.size() == 3 && shape[0] == std::ssize(seeds_), "dropout: another number of records than seeds");
    const auto own = static_cast<std::uint32_t>(pair);
    const std::int64_t numbers = shape[1] * shape[2];
    const std::int64_t blocks = (numbers + numbers_per_block - 1) / numbers_per_block;
    require(blocks <= std::numeric_limits<std::uint32_t>::max(), "dropout: more numbers than a counter has blocks");
    if (!words_.defined()) {
        auto mask = at::empty(shape, at::kBool);
        auto* const out = mask.data_ptr<bool>();
        // A thread's parts are whole blocks.
        constexpr std::int64_t part = 1 << 12;
        const std::int64_t parts = (numbers + part - 1) / part;
        constexpr std::int64_t parts_of_a_thread = 8;  // fewer are not worth another one
        at::parallel_for(0, parts * shape[0], parts_of_a_thread, [&](std::int64_t first, std::int64_t last) {
            for (auto i = first; i < last; ++i) {
                const auto& seed = seeds_[static_cast<std::size_t>(i / parts)];
                const auto begin = i % parts * part;
                philox::at_least(threshold_, begin, std::min(begin + part, numbers),
                                 {own, low(seed.counter), high(seed.counter)}, {low(seed.key), high(seed.key)},
                                 out + i / parts * numbers + begin);
            }
        });
        return mask;
    }
    const auto all = [&](const at::Tensor& word) { return word.expand({shape[0], blocks}); };
    const auto on = words_.options();
    const auto x =
        philox_at({all(at::arange(blocks, on)), at::full({}, std::int64_t{own}, on), all(words_[2]), words_[3]},
                  {words_[0], words_[1]});
    // [records, blocks, 4 words, 2 halves]
    const auto words = at::stack({x[0], x[1], x[2], x[3]}, -1);
    const auto halves = at::stack({words.bitwise_and(0xffff), words.bitwise_right_shift(16)}, -1);
    return halves.ge(std::int64_t{threshold_}).view({shape[0], -1}).narrow(1, 0, numbers).contiguous().view(shape);
}

}  // namespace rldp::models

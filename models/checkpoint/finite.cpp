#include "models/checkpoint/finite.hpp"

#include <algorithm>
#include <cstdint>

#include "config/base/require.hpp"

namespace rldp::models {

namespace {

/// `exponent`: the bits that are all set in NaN and infinity, and in no other number.
template <class Word>
bool none_with(const at::Tensor& numbers, Word exponent) {
    constexpr std::int64_t block = 1 << 14;  // words; within one nothing branches, so that it vectorises
    const auto* words = static_cast<const Word*>(numbers.data_ptr());
    for (std::int64_t begin = 0; begin < numbers.numel(); begin += block) {
        const auto end = std::min(begin + block, numbers.numel());
        Word found = 0;
        for (auto i = begin; i < end; ++i) found |= static_cast<Word>((words[i] & exponent) == exponent);
        if (found != 0) return false;
    }
    return true;
}

}  // namespace

bool all_finite(const at::Tensor& numbers) {
    const auto plain = numbers.contiguous();
    switch (plain.scalar_type()) {
        case at::kDouble:
            return none_with<std::uint64_t>(plain, 0x7ff0000000000000);
        case at::kFloat:
            return none_with<std::uint32_t>(plain, 0x7f800000);
        case at::kBFloat16:
            return none_with<std::uint16_t>(plain, 0x7f80);
        case at::kHalf:
            return none_with<std::uint16_t>(plain, 0x7c00);
        default:
            bug("all_finite: not a tensor of floats");
    }
}

}  // namespace rldp::models

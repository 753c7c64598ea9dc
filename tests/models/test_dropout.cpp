// Masks: Philox against published values, and that a record's depends on the record alone.
#include "models/lora/dropout.hpp"

#include <ATen/ATen.h>

#include "base/error.hpp"
#include "models/lora/philox.hpp"
#include "tests/catch.hpp"

using namespace rldp::models;

namespace {

const std::vector<mask_seed> seeds{{1, 2}, {0x123456789abcdef0, 0xfedcba9876543210}, {3, 0}};

at::Tensor masks(const std::vector<mask_seed>& of, std::size_t pair, at::IntArrayRef shape, double p) {
    return dropout_masks(of, p, at::kCPU)(pair, shape);
}

}  // namespace

TEST_CASE("Philox 4x32-10 gives Random123's known answers", "[dropout]") {
    // kat_vectors of Random123 (Salmon et al. 2011): zeros, ones, the digits of pi.
    constexpr philox::block zeros = philox::at({0, 0, 0, 0}, {0, 0});
    CHECK(zeros == philox::block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    constexpr std::uint32_t all = 0xffffffff;
    CHECK(philox::at({all, all, all, all}, {all, all}) ==
          philox::block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    CHECK(philox::at({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
          philox::block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a mask's numbers are half-words of the blocks at their places", "[dropout]") {
    const auto mask = masks(seeds, 7, {3, 5, 37}, 0.25);
    REQUIRE(mask.scalar_type() == at::kBool);
    const bool* next = mask.data_ptr<bool>();
    for (const auto& seed : seeds) {
        const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
        for (std::uint32_t j = 0; j < 5 * 37; ++j) {
            const auto words = philox::at({j / 8, 7, low(seed.counter), low(seed.counter >> 32)},
                                          {low(seed.key), low(seed.key >> 32)});
            const auto half = (words[j % 8 / 2] >> (16 * (j % 2))) & 0xffff;
            REQUIRE(*next++ == (half >= 0x4000));
        }
    }
}

TEST_CASE("a record's mask depends on neither its company nor its padding", "[dropout]") {
    const auto together = masks(seeds, 2, {3, 90, 100}, 0.5);
    const auto alone = masks({seeds[1]}, 2, {1, 40, 100}, 0.5);
    CHECK(together[1].narrow(0, 0, 40).equal(alone[0]));
    CHECK_FALSE(together[0].equal(together[1]));
    CHECK_FALSE(masks(seeds, 3, {3, 90, 100}, 0.5).equal(together));
}

TEST_CASE("masks have the rate that was asked for, and neighbours have nothing to do with each other", "[dropout]") {
    for (const double p : {0.0, 0.05, 0.5, 0.999}) {
        const auto dropped = masks({{5, 6}}, 0, {1, 500, 200}, p).logical_not().to(at::kDouble).view({-1});
        CHECK(dropped.mean().item<double>() == Approx(p).margin(4 * std::sqrt(p * (1 - p) / 1e5) + 1e-5));
        if (p == 0) continue;
        for (const std::int64_t lag : {1, 2, 8, 200}) {
            const auto count = dropped.numel() - lag;
            const auto both = (dropped.narrow(0, 0, count) * dropped.narrow(0, lag, count)).mean().item<double>();
            CHECK(both == Approx(p * p).margin(4 * std::sqrt(p * p * (1 - p * p) / 1e5) + 1e-5));
        }
    }
    for (const double p : {-0.1, 1.0, std::nan("")}) CHECK_THROWS_AS(masks({{1, 2}}, 0, {1, 1, 1}, p), rldp::error);
}

#include "privacy/mechanism/correlated_noise.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/error.hpp"
#include "privacy/mechanism/kernels.hpp"

namespace rldp::privacy {

correlated_noise::correlated_noise(band_coefficients bands, std::int64_t coordinates)
    : bands_(std::move(bands)), coordinates_(coordinates) {
    require(!bands_.empty(), "correlated noise: a matrix without bands");
    double squares = 0;
    for (const double c : bands_) squares += c * c;
    // Else a unit's part would be longer than what is charged for.
    require(squares <= 1 + 1e-12 && is_positive(bands_[0]), "correlated noise: a column of another norm than 1");
    if (kept() > 0) last_ = at::empty({static_cast<std::int64_t>(kept()), coordinates}, at::kDouble);
}

double* correlated_noise::remembered(std::uint64_t seq) {
    return last_.data_ptr<double>() + static_cast<std::int64_t>(seq % kept()) * coordinates_;
}

void correlated_noise::begin(std::uint64_t seq) {
    if (seq != seq_ + 1 || done_ != coordinates_) first_ = seq;
    seq_ = seq;
    done_ = 0;
}

void correlated_noise::correlate(std::int64_t first, std::span<double> noise) {
    require(seq_ > 0 && first >= 0 && first + std::ssize(noise) <= coordinates_,
            "correlated noise: no step was begun, or no such coordinates");
    if (kept() > 0) {
        const auto before = std::min<std::uint64_t>(seq_ - first_, kept());
        for (std::uint64_t k = 1; k <= before; ++k)
            detail::subtract_multiple(noise.data(), remembered(seq_ - k) + first, bands_[k], std::ssize(noise));
        for (double& one : noise) one /= bands_[0];
        std::copy(noise.begin(), noise.end(), remembered(seq_) + first);
    }
    std::atomic_ref(done_) += std::ssize(noise);
}

}  // namespace rldp::privacy

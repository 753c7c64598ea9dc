// Rounding. A transform of x has an error of at most η·|x|₂ per value in the root mean square, η = 2·ε_fp·sqrt(log2 N):
// five times what FFTW's own accuracy benchmark measures (Frigo and Johnson 2005), and of the same growth as the bound
// of Higham 2002, §24.1, for independent errors. The product's error is that times Σ steps·|x|₂/|φ|, relative. By
// Parseval the masses' errors have a Euclidean norm of at most the root mean square over all frequencies.
#include "privacy/pld_spectrum.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace rldp::privacy {
namespace {

constexpr double negligible = 1e-30;  // a composed frequency below this is taken for 0

std::complex<double> times(std::complex<double> a, std::complex<double> b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

std::complex<double> power(std::complex<double> base, std::int64_t exponent) {
    std::complex<double> out = 1;
    for (; exponent > 0; exponent /= 2) {
        if (exponent % 2) out = times(out, base);
        base = times(base, base);
    }
    return out;
}

}  // namespace

void spectrum::transform(std::span<const std::int64_t> index, std::span<const double> mass) {
    const auto size = static_cast<std::int64_t>(fft_.real().size());
    std::ranges::fill(fft_.real(), 0.0);
    for (std::size_t i = 0; i < mass.size(); ++i)
        fft_.real()[static_cast<std::size_t>((index[i] % size + size) % size)] += mass[i];
    fft_.forward();
}

/// The living frequencies one by one, for eight atoms at a time. Every 16th turn is computed afresh, so that rounding
/// doesn't add up.
void spectrum::evaluate(std::span<const std::int64_t> index, std::span<const double> mass) {
    constexpr std::size_t lanes = 8, fresh = 16;
    const auto size = static_cast<std::int64_t>(fft_.real().size());
    const auto out = fft_.frequencies();
    std::fill_n(out.begin(), alive_, 0.0);
    for (std::size_t first = 0; first < mass.size(); first += lanes) {
        std::array<double, lanes> re{}, im{}, turn_re{}, turn_im{};
        const std::size_t count = std::min(lanes, mass.size() - first);
        const auto angle = [&](std::size_t i, std::size_t j) {
            const std::int64_t turns = (index[first + i] % size) * static_cast<std::int64_t>(j) % size;
            return -2 * std::numbers::pi * static_cast<double>(turns) / static_cast<double>(size);
        };
        for (std::size_t i = 0; i < count; ++i) {
            turn_re[i] = std::cos(angle(i, 1));
            turn_im[i] = std::sin(angle(i, 1));
        }
        for (std::size_t j = 0; j < alive_; ++j) {
            for (std::size_t i = 0; j % fresh == 0 && i < count; ++i) {
                re[i] = mass[first + i] * std::cos(angle(i, j));
                im[i] = mass[first + i] * std::sin(angle(i, j));
            }
            double sum_re = 0, sum_im = 0;
            for (std::size_t i = 0; i < lanes; ++i) {
                sum_re += re[i];
                sum_im += im[i];
            }
            out[j] += std::complex<double>{sum_re, sum_im};
            for (std::size_t i = 0; i < lanes; ++i) {
                const double turned = re[i] * turn_re[i] - im[i] * turn_im[i];
                im[i] = re[i] * turn_im[i] + im[i] * turn_re[i];
                re[i] = turned;
            }
        }
    }
}

void spectrum::multiply(std::span<const std::int64_t> index, std::span<const double> mass, double steps) {
    const double size = static_cast<double>(fft_.real().size());
    if (static_cast<double>(alive_) * static_cast<double>(mass.size()) < size * std::log2(size) / 2) {
        evaluate(index, mass);
    } else {
        transform(index, mass);
    }
    const double least = std::pow(negligible, 2 / steps);
    const double norm = std::sqrt(std::inner_product(mass.begin(), mass.end(), mass.begin(), 0.0));
    std::size_t alive = 0;
    for (std::size_t j = 0; j < alive_; ++j) {
        const std::complex<double> phi = fft_.frequencies()[j];
        const double square = std::norm(phi);
        product_[j] = square < least ? 0 : times(product_[j], power(phi, static_cast<std::int64_t>(steps)));
        if (std::norm(product_[j]) < negligible * negligible) {
            product_[j] = 0;
            continue;
        }
        sensitivity_[j] += steps * norm / std::sqrt(square);
        alive = j + 1;
    }
    alive_ = alive;
}

std::span<const double> spectrum::masses() {
    const auto size = static_cast<double>(fft_.real().size());
    double square = 0;
    for (std::size_t j = 0; j < product_.size(); ++j) {
        fft_.frequencies()[j] = j < alive_ ? product_[j] : 0;
        if (j < alive_) square += 2 * std::norm(product_[j]) * sensitivity_[j] * sensitivity_[j];
    }
    error_ =
        2 * std::numeric_limits<double>::epsilon() * std::sqrt(std::log2(size) * square / size) + negligible * size;
    fft_.backward();
    for (double& m : fft_.real()) m = std::max(m / size, 0.0);
    return fft_.real();
}

}  // namespace rldp::privacy

#include <fftw3.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <numbers>

#include "privacy/accounting/pld/spectrum.hpp"

namespace rldp::privacy {

struct real_fft::buffers {
    explicit buffers(std::size_t n) : size(n), real(fftw_alloc_real(n)), complex(fftw_alloc_complex(n / 2 + 1)) {
        if (!real || !complex) throw std::bad_alloc();
    }
    ~buffers() {
        fftw_free(real);
        fftw_free(complex);
    }
    buffers(const buffers&) = delete;
    buffers& operator=(const buffers&) = delete;
    std::size_t size;
    double* real;
    fftw_complex* complex;
};

struct real_fft::plans {
    explicit plans(std::size_t n) {
        const buffers scratch(n);
        const int size = static_cast<int>(n);
        forward = fftw_plan_dft_r2c_1d(size, scratch.real, scratch.complex, FFTW_ESTIMATE);
        backward = fftw_plan_dft_c2r_1d(size, scratch.complex, scratch.real, FFTW_ESTIMATE);
    }
    ~plans() {
        fftw_destroy_plan(forward);
        fftw_destroy_plan(backward);
    }
    plans(const plans&) = delete;
    plans& operator=(const plans&) = delete;
    fftw_plan forward, backward;

    /// FFTW's planner is not thread-safe; executing a plan on other arrays of the same alignment is.
    static const plans& of(std::size_t n) {
        static std::mutex lock;
        static std::map<std::size_t, plans> made;
        const std::lock_guard guard(lock);
        return made.try_emplace(n, n).first->second;
    }
};

real_fft::real_fft(std::size_t size) : plans_(plans::of(size)), buffers_(std::make_unique<buffers>(size)) {}
real_fft::~real_fft() = default;

std::span<double> real_fft::real() {
    return {buffers_->real, buffers_->size};
}
std::span<std::complex<double>> real_fft::frequencies() {
    // fftw_complex is double[2], which std::complex may be viewed as ([complex.numbers.general]/4) and FFTW asks for.
    return {reinterpret_cast<std::complex<double>*>(buffers_->complex), buffers_->size / 2 + 1};
}
void real_fft::forward() {
    fftw_execute_dft_r2c(plans_.forward, buffers_->real, buffers_->complex);
}
void real_fft::backward() {
    fftw_execute_dft_c2r(plans_.backward, buffers_->complex, buffers_->real);
}

std::size_t real_fft::good_size(double least) {
    for (std::size_t power = 16;; power *= 2) {
        for (const std::size_t factor : {4, 5, 6}) {
            if (static_cast<double>(power * factor) >= least) return power * factor;
        }
    }
}

// Rounding, in the worst case. u = 2^-53; masses x are positive and sum to 1. The mass at index 0, which is most of it
// where units are drawn rarely, is the same at every frequency: it is added afterwards and rounds once.
//
// Addition. An addition of complex numbers errs by u relative to its result's modulus, a product by √5·u (Brent,
// Percival, Zimmermann 2007), a constant of modulus 1 by 2u if sine and cosine are within one unit in the last place.
//
// Transform. Assumption: FFTW evaluates a Cooley-Tukey or split-radix factorisation in IEEE double with such constants.
// Each factor of 2 in N then costs a value at most one addition, one product and one constant: (1 + √5 + 2)·u relative
// to the moduli of what has gone into it. The stages after it, taken exactly, only turn these errors and add them up:
// |error of a frequency| ≤ levels·8u·Σx. It is the same with Euclidean norms, where a stage is unitary but for its
// scale and an addition errs by √2·u: ‖error‖₂ ≤ levels·8u·‖result‖₂, for powers of 2 theorem 24.2 of Higham 2002. That
// 8 is more than 5.7, and that levels are log2 N + 2, pays for the one factor 3 or 5, whose values take up to 12u and
// √5 times that in the norm, for twiddles that are products of others, and for separating a real transform's halves.
//
// Composition. A factor φ^steps has as many roundings as steps, √5·u each, and φ's own error e counts once a step. So
// the product is wrong by a factor 1 + Δ with |Δ| ≤ exp(Σ steps·(log(1 + e/|φ|) + √5·u) + √5·u) − 1. By Parseval the
// masses' errors have the Euclidean norm of the frequencies' over √N.

namespace {

constexpr double negligible = 1e-30;  // a composed frequency below this is taken for 0
constexpr double u = std::numeric_limits<double>::epsilon() / 2;
constexpr double product_rounding = 2.25 * u;  // √5·u and more
constexpr double turn_rounding = 10 * u;       // e^{iα}, |α| ≤ π: 2.35·π·u of α, 2u of sine and cosine

/// Of a transform of `size` points: each frequency's error relative to Σx, and the Euclidean norm's relative error.
double transform_rounding(double size) {
    return 8 * u * (std::log2(size) + 2);
}

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

/// All frequencies of the masses that aren't at index 0; returns a bound on each one's error relative to their sum.
double spectrum::transform(std::span<const std::int64_t> index, std::span<const double> mass) {
    const auto size = static_cast<std::int64_t>(fft_.real().size());
    std::ranges::fill(fft_.real(), 0.0);
    for (std::size_t i = 0; i < mass.size(); ++i)
        if (index[i] != 0) fft_.real()[static_cast<std::size_t>((index[i] % size + size) % size)] += mass[i];
    fft_.forward();
    const auto [low, high] = std::ranges::minmax(index);
    const double turns = static_cast<double>(high - low) / static_cast<double>(size);  // additions into one place
    return transform_rounding(static_cast<double>(size)) + u * turns;
}

/// The same for the living frequencies, one by one, for eight atoms at a time. Every 16th turn is computed afresh, so
/// that rounding doesn't add up.
double spectrum::evaluate(std::span<const std::int64_t> index, std::span<const double> mass) {
    constexpr std::size_t lanes = 8, fresh = 16;
    const auto size = static_cast<std::int64_t>(fft_.real().size());
    const auto out = fft_.frequencies();
    std::fill_n(out.begin(), alive_, 0.0);
    for (std::size_t first = 0; first < mass.size(); first += lanes) {
        std::array<double, lanes> re{}, im{}, turn_re{}, turn_im{};
        const std::size_t count = std::min(lanes, mass.size() - first);
        const auto angle = [&](std::size_t i, std::size_t j) {
            std::int64_t turns = (index[first + i] % size) * static_cast<std::int64_t>(j) % size;
            if (2 * std::abs(turns) > size) turns -= turns > 0 ? size : -size;
            return -2 * std::numbers::pi * static_cast<double>(turns) / static_cast<double>(size);
        };
        for (std::size_t i = 0; i < count; ++i) {
            turn_re[i] = std::cos(angle(i, 1));
            turn_im[i] = std::sin(angle(i, 1));
        }
        for (std::size_t j = 0; j < alive_; ++j) {
            for (std::size_t i = 0; j % fresh == 0 && i < count; ++i) {
                if (index[first + i] == 0) continue;
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
    // Of lanes and blocks; the first turn and its product with the mass round less than each of the others.
    const double additions = static_cast<double>(lanes + mass.size() / lanes);
    return fresh * (turn_rounding + product_rounding) + additions * u;
}

void spectrum::multiply(std::span<const std::int64_t> index, std::span<const double> mass, double steps) {
    const double size = static_cast<double>(fft_.real().size());
    const bool few = static_cast<double>(alive_) * static_cast<double>(mass.size()) < size * std::log2(size) / 2;
    double still = 0, moving = 0;  // masses at index 0 and elsewhere
    for (std::size_t i = 0; i < mass.size(); ++i) (index[i] == 0 ? still : moving) += mass[i];
    const double rounding = moving * (few ? evaluate(index, mass) : transform(index, mass)) + u;
    const double least = std::pow(negligible, 1 / steps), most_lost = std::pow(least + rounding, steps);
    std::size_t alive = 0;
    for (std::size_t j = 0; j < alive_; ++j) {
        if (product_[j] == 0.0) continue;
        const std::complex<double> phi = still + fft_.frequencies()[j];
        const double modulus = std::sqrt(std::norm(phi));
        if (modulus < least) {
            product_[j] = 0;
            lost_ += most_lost * most_lost;
            continue;
        }
        product_[j] = times(product_[j], power(phi, static_cast<std::int64_t>(steps)));
        log_error_[j] += steps * (std::log1p(rounding / modulus) + product_rounding) + product_rounding;
        if (std::norm(product_[j]) < negligible * negligible) {
            lost_ += std::norm(product_[j]) * std::exp(2 * log_error_[j]);
            product_[j] = 0;
            continue;
        }
        alive = j + 1;
    }
    alive_ = alive;
}

std::span<const double> spectrum::masses() {
    const auto size = static_cast<double>(fft_.real().size());
    double square = 0, error_square = lost_;
    for (std::size_t j = 0; j < product_.size(); ++j) {
        fft_.frequencies()[j] = j < alive_ ? product_[j] : 0;
        if (j >= alive_) continue;
        square += std::norm(product_[j]);
        error_square += std::norm(product_[j]) * std::pow(std::expm1(log_error_[j]), 2);
    }
    // Of all frequencies but the first and the last only one of two is stored. The division by `size` rounds once.
    error_ = std::sqrt(2 * error_square / size) + (transform_rounding(size) + u) * std::sqrt(2 * square / size);
    fft_.backward();
    for (double& m : fft_.real()) m = std::max(m / size, 0.0);  // a mass is not negative: clipping only helps
    return fft_.real();
}

}  // namespace rldp::privacy

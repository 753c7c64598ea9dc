#pragma once
// Convolutions of many steps' losses at once: products of characteristic functions, by Fourier transforms.
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rldp::privacy {

// Fourier transforms. Real ones in double, by FFTW.

/// A transform of `size` real points with its two buffers. Plans are shared and made under a lock; transforms of
/// different objects may run in parallel.
class real_fft {
  public:
    explicit real_fft(std::size_t size);
    ~real_fft();

    std::span<double> real();                       ///< size
    std::span<std::complex<double>> frequencies();  ///< size/2 + 1
    void forward();                                 ///< real → frequencies
    void backward();  ///< frequencies → real, not divided by size; overwrites the frequencies

    /// The smallest size ≥ `least` of the form 2^a·{4, 5, 6}, which transforms fast.
    static std::size_t good_size(double least);

  private:
    struct plans;
    struct buffers;
    const plans& plans_;
    std::unique_ptr<buffers> buffers_;
};

// Spectrum. The product of characteristic functions on a circle of losses.

class spectrum {
  public:
    explicit spectrum(std::size_t size) : fft_(size), product_(size / 2 + 1, 1), log_error_(size / 2 + 1) {}

    /// `steps` convolutions with positive masses that sum to 1, at different indices modulo the circle's size.
    void multiply(std::span<const std::int64_t> index, std::span<const double> mass, double steps);

    std::span<const double> masses();
    /// Euclidean norm of the errors of masses() at most, whatever the roundings.
    double error() const { return error_; }

  private:
    double transform(std::span<const std::int64_t> index, std::span<const double> mass);
    double evaluate(std::span<const std::int64_t> index, std::span<const double> mass);

    real_fft fft_;
    std::vector<std::complex<double>> product_;
    std::vector<double> log_error_;        ///< the product is wrong by a factor 1 + Δ, |Δ| ≤ e^{this} − 1
    std::size_t alive_ = product_.size();  ///< frequencies from here on are taken for 0
    double lost_ = 0;                      ///< Σ squares of what frequencies taken for 0 may have been
    double error_ = 0;
};

}  // namespace rldp::privacy

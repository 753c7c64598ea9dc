#pragma once
// The product of characteristic functions on a circle of losses.
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "privacy/accounting/pld/fft.hpp"

namespace rldp::privacy {

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

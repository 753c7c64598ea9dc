#pragma once
// The product of characteristic functions on a circle of losses.
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "privacy/pld_fft.hpp"

namespace rldp::privacy {

class spectrum {
  public:
    explicit spectrum(std::size_t size) : fft_(size), product_(size / 2 + 1, 1), sensitivity_(size / 2 + 1, 1) {}

    /// `steps` convolutions with masses that sum to 1, at indices modulo the circle's size.
    void multiply(std::span<const std::int64_t> index, std::span<const double> mass, double steps);

    std::span<const double> masses();
    /// Euclidean norm of the rounding errors of masses().
    double error() const { return error_; }

  private:
    void transform(std::span<const std::int64_t> index, std::span<const double> mass);
    void evaluate(std::span<const std::int64_t> index, std::span<const double> mass);

    real_fft fft_;
    std::vector<std::complex<double>> product_;
    std::vector<double> sensitivity_;      ///< 1 + Σ steps·|mass|₂/|φ|: relative error of the product
    std::size_t alive_ = product_.size();  ///< frequencies from here on are negligible
    double error_ = 0;
};

}  // namespace rldp::privacy

#pragma once
// Real Fourier transforms in double, by FFTW.
#include <complex>
#include <cstddef>
#include <memory>
#include <span>

namespace rldp::privacy {

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

}  // namespace rldp::privacy

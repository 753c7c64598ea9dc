#include "privacy/accounting/pld/fft.hpp"

#include <fftw3.h>

#include <map>
#include <mutex>
#include <new>

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

}  // namespace rldp::privacy

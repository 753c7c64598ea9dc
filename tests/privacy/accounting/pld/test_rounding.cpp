// The bound on the rounding of Fourier transforms, against transforms in long double.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "privacy/accounting/pld/spectrum.hpp"
#include "tests/catch.hpp"

using namespace rldp::privacy;

namespace {

using complex = std::complex<long double>;

struct factor {
    std::vector<std::int64_t> index;
    std::vector<double> mass;
    std::int64_t steps;
};

/// Every root of unity e^{-2πij/size}.
std::vector<complex> roots(std::size_t size) {
    std::vector<complex> out;
    for (std::size_t j = 0; j < size; ++j)
        out.push_back(std::polar(
            1.0L, -2 * std::numbers::pi_v<long double> * static_cast<long double>(j) / static_cast<long double>(size)));
    return out;
}

complex power(complex base, std::int64_t exponent) {
    complex out = 1;
    for (; exponent > 0; exponent /= 2, base *= base)
        if (exponent % 2) out *= base;
    return out;
}

/// What spectrum computes, and what its errors are on average, not at worst: 2ε·sqrt(log2 N)·|x|₂ per frequency and
/// step.
struct reference {
    std::vector<long double> mass;
    double typical_error = 0;

    reference(const std::vector<factor>& factors, std::size_t size) : mass(size) {
        const auto turn = roots(size);
        std::vector<complex> product(size, 1);
        std::vector<long double> relative(size, 1);
        for (const factor& f : factors) {
            long double square = 0;
            for (const double m : f.mass) square += static_cast<long double>(m) * m;
            for (std::size_t j = 0; j < size; ++j) {
                complex phi = 0;
                for (std::size_t i = 0; i < f.mass.size(); ++i)
                    phi += turn[place(f.index[i], size) * j % size] * static_cast<long double>(f.mass[i]);
                product[j] *= power(phi, f.steps);
                relative[j] += static_cast<long double>(f.steps) * std::sqrt(square) / std::abs(phi);
            }
        }
        long double square = 0;
        for (std::size_t k = 0; k < size; ++k) {
            complex sum = 0;
            for (std::size_t j = 0; j < size; ++j) sum += product[j] * std::conj(turn[j * k % size]);
            mass[k] = sum.real() / static_cast<long double>(size);
            if (std::abs(product[k]) > 1e-30L) square += std::norm(product[k]) * relative[k] * relative[k];
        }
        typical_error = 2 * std::numeric_limits<double>::epsilon() *
                        static_cast<double>(std::sqrt(std::log2(static_cast<long double>(size)) * square /
                                                      static_cast<long double>(size)));
    }
    static std::size_t place(std::int64_t index, std::size_t size) {
        const auto n = static_cast<std::int64_t>(size);
        return static_cast<std::size_t>((index % n + n) % n);
    }
};

/// `count` different indices within ±reach, masses e^{-spread·uniform}: equal or, with much spread, a few spikes.
factor random_factor(std::mt19937_64& random, std::int64_t count, std::int64_t reach, double spread) {
    std::uniform_real_distribution<double> unit(0, 1);
    factor out{{}, {}, 1};
    const std::int64_t gap = std::max<std::int64_t>(1, 2 * reach / count);
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        out.index.push_back(-reach + gap * i + static_cast<std::int64_t>(unit(random) * static_cast<double>(gap)));
        out.mass.push_back(std::exp(-spread * unit(random)));
        sum += out.mass.back();
    }
    for (double& m : out.mass) m /= sum;
    return out;
}

std::vector<factor> random_factors(std::mt19937_64& random, std::size_t size) {
    std::uniform_real_distribution<double> unit(0, 1);
    std::vector<factor> out(1 + random() % 3);
    for (factor& f : out) {
        const auto count =
            static_cast<std::int64_t>(std::exp(unit(random) * std::log(3.0 * static_cast<double>(size))));
        const auto reach =
            static_cast<std::int64_t>(static_cast<double>(count) + unit(random) * static_cast<double>(2 * size));
        f = random_factor(random, count, reach, 80 * unit(random) * unit(random));
        f.steps = static_cast<std::int64_t>(std::pow(10, 6 * unit(random)));
    }
    return out;
}

struct outcome {
    double error, bound, typical;
};
outcome compare(const std::vector<factor>& factors, std::size_t size) {
    spectrum composed(size);
    for (const factor& f : factors) composed.multiply(f.index, f.mass, static_cast<double>(f.steps));
    const reference exact(factors, size);
    const auto found = composed.masses();
    long double square = 0;
    for (std::size_t k = 0; k < size; ++k) square += std::pow(found[k] - exact.mass[k], 2);
    return {static_cast<double>(std::sqrt(square)), composed.error(), exact.typical_error};
}

}  // namespace

TEST_CASE("the bound on rounding holds where errors are systematic: one spike, whose phase is wrong in every step") {
    for (const std::int64_t company : {0, 16}) {  // a few atoms are summed directly, more are transformed
        for (const std::size_t size : {64, 80, 96, 256, 640}) {
            for (const std::int64_t at : {1, 3, 5, 7, 21, 29, 31}) {
                for (const std::int64_t steps : {1, 100, 1'000'003, 1'000'000'007}) {
                    factor spike{{at}, {1.0}, steps};
                    for (std::int64_t i = 1; i <= company; ++i) {
                        spike.index.push_back(at + i);
                        spike.mass.push_back(1e-20);
                    }
                    const auto found = compare({spike}, size);
                    CAPTURE(company, size, at, steps, found.error, found.bound, found.typical);
                    CHECK(found.error <= found.bound);
                    CHECK(found.typical <= found.bound);
                    CHECK(found.bound <= 100 * found.typical);
                }
            }
        }
    }
}

TEST_CASE("the bound on rounding exceeds the error and its typical size, over 400 random compositions") {
    std::mt19937_64 random(14);
    for (int trial = 0; trial < 400; ++trial) {
        const std::size_t size = real_fft::good_size(static_cast<double>(64 + random() % 257));
        const auto found = compare(random_factors(random, size), size);
        CAPTURE(trial, size, found.error, found.bound, found.typical);
        CHECK(found.error <= found.bound);
        CHECK(found.typical <= found.bound);
    }
}

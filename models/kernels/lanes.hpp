// Floats side by side, as many as a register holds. Kernels that are compiled once for each instruction set include
// this within their namespace, with RLDP_LANES.

// The compiler takes wider vectors apart badly.
inline constexpr std::int64_t lanes = RLDP_LANES;
using vec = float __attribute__((vector_size(4 * lanes), may_alias));
using whole = std::int32_t __attribute__((vector_size(4 * lanes), may_alias));

#define RLDP_INLINE [[gnu::always_inline]] inline

RLDP_INLINE vec& lanes_at(float* p) {
    return *reinterpret_cast<vec*>(p);
}
RLDP_INLINE const vec& lanes_at(const float* p) {
    return *reinterpret_cast<const vec*>(p);
}

// e^x for x <= 0 to 2 ulp (Cephes' expf), 0 below -87.
RLDP_INLINE void to_exponential(vec& x) {
    const vec lowest = vec{} - 87.0F;
    const vec inside = x < lowest ? lowest : x;
    constexpr float to_integer = 12582912.0F;  // 1.5 * 2^23: what is added to it is rounded to an integer
    vec n = inside * 1.44269504088896341F + to_integer;
    const whole power = (reinterpret_cast<const whole&>(n) << 23) + (127 << 23);
    n -= to_integer;
    vec r = inside - n * 0.693359375F;
    r -= n * -2.12194440e-4F;
    vec p = r * 1.9875691500e-4F + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = p * r * r + r + 1.0F;
    const vec value = p * reinterpret_cast<const vec&>(power);
    x = x < lowest ? vec{} : value;
}

RLDP_INLINE float compute_sum(const vec& x) {
    float sum = 0;
    for (std::int64_t k = 0; k < lanes; ++k) sum += x[k];
    return sum;
}

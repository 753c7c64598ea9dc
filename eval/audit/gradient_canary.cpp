#include "eval/audit/gradient_canary.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <random>
#include <utility>

namespace rldp::eval {

at::Tensor canary_gradient(const gradient_canaries& how, std::int64_t number) {
    const auto word = [](std::int64_t x) {
        return static_cast<std::uint32_t>(static_cast<std::uint64_t>(x) & 0xffffffff);
    };
    std::seed_seq seed{word(how.seed), word(how.seed >> 32), word(number), word(number >> 32)};
    std::mt19937_64 random(seed);
    const auto sizes = privacy::sizes_of_groups(how.segments);
    std::vector<float> values;
    for (const auto& part : how.segments) {
        const auto size = static_cast<float>(how.norm / std::sqrt(static_cast<double>(sizes[part.group])));
        for (std::int64_t i = 0; i < part.size; ++i) values.push_back(random() >> 63 ? size : -size);
    }
    return at::tensor(values, at::kFloat);
}

std::vector<double> trace_scores(const gradient_canaries& how, const at::Tensor& trace, std::int64_t count) {
    auto unit = how;
    unit.norm = 1;
    std::vector<double> out;
    for (std::int64_t i = 0; i < count; ++i)
        out.push_back(canary_gradient(unit, i).to(at::kDouble).dot(trace).item<double>());
    return out;
}

}  // namespace rldp::eval

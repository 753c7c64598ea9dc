#include "privacy/methods/method_tensors.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/base/error.hpp"
#include "privacy/methods/method_state.hpp"

namespace rldp::privacy {

step_terms clip_in(std::shared_ptr<const geometry> shape) {
    step_terms out;
    out.radii = {1};
    out.shape = std::move(shape);
    return out;
}

at::Tensor released_mean(const release& value, std::int64_t coordinates, double expected_batch) {
    if (value.gradient.numel() != coordinates || !value.gradient.isfinite().all().item<bool>())
        throw error(errc::failed,
                    fmt::format("step {}: the release is not finite, or not of this model", value.charged->step));
    return value.gradient.to(at::kDouble) / expected_batch;
}

at::Tensor state_tensor(const method_state& from, const std::string& name, const std::vector<std::int64_t>& shape) {
    const auto& all = from.tensors;
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& named) { return named.first == name; });
    if (found == all.end()) refuse(fmt::format("checkpoint: the method's state lacks {}", name));
    const auto& tensor = found->second;
    if (tensor.scalar_type() != at::kDouble || tensor.sizes() != at::IntArrayRef(shape) ||
        !tensor.isfinite().all().item<bool>())
        refuse(fmt::format("checkpoint: {} of the method's state is of another model, or damaged", name));
    return tensor.to(at::kCPU).clone();
}

void check_sizes(const method_state& from, const std::string& name, const std::vector<std::int64_t>& sizes) {
    const auto numbers = read_numbers(from, name);
    const auto written = numbers.find("sizes");
    if (written == numbers.end() || *written != nlohmann::json(sizes))
        refuse(fmt::format("checkpoint: the state of method {} is of a model with other adapters", name));
}

}  // namespace rldp::privacy

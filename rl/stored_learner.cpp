#include "rl/stored_learner.hpp"

#include <ATen/ATen.h>

#include <cstring>

#include "config/base/error.hpp"

namespace rldp::rl {

using nlohmann::json;

json::binary_t to_bytes(const at::Tensor& tensor) {
    const auto whole = tensor.contiguous();
    const auto* begin = static_cast<const std::uint8_t*>(whole.data_ptr());
    return json::binary_t(std::vector<std::uint8_t>(begin, begin + whole.nbytes()));
}

at::Tensor tensor_from(const json& stored, const at::Tensor& pattern) {
    const auto& bytes = stored.get_binary();
    if (bytes.size() != pattern.nbytes())
        refuse("controller checkpoint: the nets have other sizes than this configuration's; resume with the run's own");
    auto result = at::empty_like(pattern, at::MemoryFormat::Contiguous);
    if (!bytes.empty()) std::memcpy(result.data_ptr(), bytes.data(), bytes.size());  // of nothing there is no address
    return result;
}

json stored(const models::adamw::state& state) {
    return {{"parameters", to_bytes(state.parameters)},
            {"first", to_bytes(state.first)},
            {"second", to_bytes(state.second)},
            {"steps", state.steps}};
}

models::adamw::state restored(const json& from, const at::Tensor& pattern) {
    return {.parameters = tensor_from(from.at("parameters"), pattern),
            .first = tensor_from(from.at("first"), pattern),
            .second = tensor_from(from.at("second"), pattern),
            .steps = from.at("steps").get<std::int64_t>()};
}

}  // namespace rldp::rl

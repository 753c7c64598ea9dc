#include <ATen/ATen.h>

#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>

#include "base/error.hpp"
#include "rl/networks.hpp"

namespace rldp::rl {
namespace {

using shapes = std::vector<std::vector<std::int64_t>>;

// Where exploration starts: e^-1 ≈ 0.37 of standard deviation keeps a first radius within a factor of 1.5 of the
// tracked median two times out of three. The usual start, σ ≈ 1, would throw radii about by a factor of 3 before
// anything is learnt.
constexpr double initial_log_sigma = -1;
// And nearly constant in the state, for the same reason: the first decisions then come from the median alone.
constexpr double head_scale = 0.01;

std::int64_t count(const std::vector<std::int64_t>& shape) {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t total(const shapes& all) {
    std::int64_t sum = 0;
    for (const auto& shape : all) sum += count(shape);
    return sum;
}

std::vector<at::Tensor> unpack(const at::Tensor& flat, const shapes& all) {
    std::vector<std::int64_t> sizes;
    for (const auto& shape : all) sizes.push_back(count(shape));
    auto parts = flat.split_with_sizes(sizes);
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = parts[i].view(all[i]);
    return parts;
}

// Weights and bias of a Linear as PyTorch starts them: uniform in ±1/√fan_in.
void add_linear(std::vector<at::Tensor>& into, std::int64_t in, std::int64_t out, const at::Generator& generator) {
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    into.push_back(at::empty({out * in}, at::kFloat).uniform_(-bound, bound, generator));
    into.push_back(at::empty({out}, at::kFloat).uniform_(-bound, bound, generator));
}

// LayerNorm (Ba, Kiros and Hinton 2016) from elementary operations: at::layer_norm's gradient sums rows per thread, so
// its bits would depend on the number of threads.
at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
    const auto centred = x - x.mean(-1, true);
    return centred * (centred.square().mean(-1, true) + 1e-5).rsqrt() * weight + bias;
}

}  // namespace

at::Tensor gaussian::sample(const at::Generator& generator) const {
    return mean + log_sigma.exp() * at::randn(mean.sizes(), generator, mean.options());
}

at::Tensor gaussian::log_density(const at::Tensor& actions) const {
    const auto deviation = (actions - mean) * (-log_sigma).exp();
    return (-0.5 * deviation.square() - log_sigma - 0.5 * std::log(2 * std::numbers::pi)).sum(-1);
}

networks::networks(std::int64_t state, std::int64_t action, std::int64_t hidden)
    : hidden_(hidden),
      // weight, bias, LayerNorm's weight and bias, twice
      encoder_{{hidden, state}, {hidden}, {hidden}, {hidden}, {hidden, hidden}, {hidden}, {hidden}, {hidden}},
      heads_{{action, hidden}, {action}, {action, hidden}, {action}} {
    for (int critic = 0; critic < 2; ++critic)
        twins_.insert(twins_.end(), {{hidden, hidden + action}, {hidden}, {1, hidden}, {1}});
    encoder_size_ = total(encoder_);
    twin_size_ = total(twins_);
}

at::Tensor networks::initial_critics(const at::Generator& generator) const {
    std::vector<at::Tensor> parts;
    for (const std::size_t weight : {0, 4}) {
        add_linear(parts, encoder_[weight][1], hidden_, generator);
        parts.push_back(at::ones({hidden_}, at::kFloat));
        parts.push_back(at::zeros({hidden_}, at::kFloat));
    }
    for (const std::size_t weight : {0, 2, 4, 6}) add_linear(parts, twins_[weight][1], twins_[weight][0], generator);
    return at::cat(parts);
}

at::Tensor networks::initial_heads(const at::Generator& generator) const {
    const std::int64_t action = heads_[0][0];
    const double bound = head_scale / std::sqrt(static_cast<double>(hidden_));
    const auto weights = [&] { return at::empty({action * hidden_}, at::kFloat).uniform_(-bound, bound, generator); };
    const auto mean = weights(), log_sigma = weights();
    return at::cat(
        {mean, at::zeros({action}, at::kFloat), log_sigma, at::full({action}, initial_log_sigma, at::kFloat)});
}

at::Tensor networks::encoder_part(const at::Tensor& critics) const {
    return critics.narrow(0, 0, encoder_size_);
}
at::Tensor networks::twin_part(const at::Tensor& critics) const {
    return critics.narrow(0, encoder_size_, twin_size_);
}

at::Tensor networks::features(const at::Tensor& encoder, const at::Tensor& states) const {
    const auto p = unpack(encoder, encoder_);
    auto x = states;
    for (const std::size_t i : {0, 4}) x = at::gelu(layer_norm(at::linear(x, p[i], p[i + 1]), p[i + 2], p[i + 3]));
    return x;
}

std::array<at::Tensor, 2> networks::values(const at::Tensor& twins, const at::Tensor& features,
                                           const at::Tensor& actions) const {
    const auto p = unpack(twins, twins_);
    const auto x = at::cat({features, actions}, -1);
    const auto critic = [&](std::size_t i) {
        return at::linear(at::relu(at::linear(x, p[i], p[i + 1])), p[i + 2], p[i + 3]).squeeze(-1);
    };
    return {critic(0), critic(4)};
}

gaussian networks::policy(const at::Tensor& heads, const at::Tensor& features) const {
    const auto p = unpack(heads, heads_);
    return {at::linear(features, p[0], p[1]), at::linear(features, p[2], p[3]).clamp(-20, 2)};
}

at::Tensor polyak(const at::Tensor& target, const at::Tensor& online, double tau) {
    return target.lerp(online, tau);
}

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

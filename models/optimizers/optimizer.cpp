#include "models/optimizers/optimizer.hpp"

#include <ATen/ATen.h>

#include <utility>

#include "base/error.hpp"
#include "models/optimizers/parts.hpp"
#include "models/thread_count.hpp"

namespace rldp::models {

namespace {

class plain_adamw final : public optimizer {
  public:
    plain_adamw(at::Tensor parameters, const adamw_config& config) : inner_(std::move(parameters), config) {}

    void step(const noisy_gradient& seen, double rate) override {
        inner_.step(seen.values, rate, seen.subtracted_variance);
    }
    const at::Tensor& parameters() const override { return inner_.parameters(); }
    void set_rate_factors(const at::Tensor& factors) override { inner_.set_rate_factors(factors); }
    optimizer_state snapshot() const override {
        optimizer_state out{.parameters = inner_.parameters()};
        store(inner_.snapshot(), out);
        return out;
    }
    void restore(const optimizer_state& from) override {
        inner_.restore(stored_adamw(from, parameters_of(from, inner_.parameters())));
    }

  private:
    adamw inner_;
};

}  // namespace

void optimizer::set_rate_factors(const at::Tensor&) {
    bug("rates of numbers' own are adamw's");
}

double product(const at::Tensor& a, const at::Tensor& b) {
    const one_thread same_bits_everywhere;
    return (a * b).sum(at::kDouble).item<double>();
}

void read_numbers(const optimizer_state& from, const std::function<void(const nlohmann::json& numbers)>& read) try {
    read(nlohmann::json::parse(from.numbers));
} catch (const nlohmann::json::exception& reason) {
    refuse(std::string("checkpoint: the optimizer's numbers can't be read; bring back the run's own: ") +
           reason.what());
}

at::Tensor parameters_of(const optimizer_state& from, const at::Tensor& pattern) {
    refuse_unless(from.parameters.sizes() == pattern.sizes(),
                  "checkpoint: it has another number of parameters; bring back the run's own");
    return from.parameters.to(pattern.device());
}

at::Tensor tensor_of(const optimizer_state& from, const std::string& name, const at::Tensor& pattern) {
    const auto found = from.tensors.find(name);
    refuse_unless(found != from.tensors.end() && found->second.sizes() == pattern.sizes(),
                  "checkpoint: it lacks the optimizer's " + name + "; bring back the run's own");
    return found->second.to(pattern.device());
}

void store(const adamw::state& inner, optimizer_state& into) {
    into.tensors["first_moment"] = inner.first;
    into.tensors["second_moment"] = inner.second;
    auto numbers = nlohmann::json::parse(into.numbers);
    numbers["steps"] = inner.steps;
    numbers["noise"] = inner.noise;
    into.numbers = numbers.dump();
}

adamw::state stored_adamw(const optimizer_state& from, const at::Tensor& parameters) {
    adamw::state out{.parameters = parameters,
                     .first = tensor_of(from, "first_moment", parameters),
                     .second = tensor_of(from, "second_moment", parameters)};
    read_numbers(from, [&](const auto& numbers) {
        out.steps = numbers.at("steps");
        out.noise = numbers.at("noise");
    });
    return out;
}

std::unique_ptr<optimizer> make_optimizer(optimizer_kind kind, at::Tensor parameters, const adamw_config& config) {
    switch (kind) {
        case optimizer_kind::adamw:
            return std::make_unique<plain_adamw>(std::move(parameters), config);
        case optimizer_kind::dog:
            return make_dog(std::move(parameters));
        case optimizer_kind::prodigy:
            return make_prodigy(std::move(parameters));
        case optimizer_kind::mechanic:
            return make_mechanic(std::move(parameters), config);
        case optimizer_kind::hypergradient:
            return make_hypergradient(std::move(parameters), config);
    }
    bug("an optimizer that nobody makes");
}

}  // namespace rldp::models

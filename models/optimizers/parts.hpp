#pragma once
// The makers behind make_optimizer(), and what optimisers share: sums, and the reading of states.
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "models/optimizers/optimizer.hpp"

namespace rldp::models {

/// ε: what keeps a divisor above zero, in all of the papers.
inline constexpr double stabiliser = 1e-8;

/// ⟨a, b⟩ of float32 [D], in float64; the same to the bit whatever the number of threads.
double product(const at::Tensor& a, const at::Tensor& b);
inline double squared_norm(const at::Tensor& a) {
    return product(a, a);
}

/// Calls `read` with the numbers of a state. Errors: bad_input where one is missing or none.
void read_numbers(const optimizer_state& from, const std::function<void(const nlohmann::json& numbers)>& read);
/// The parameters, on the device of `pattern`. Errors: bad_input unless they are as many.
at::Tensor parameters_of(const optimizer_state& from, const at::Tensor& pattern);
/// The tensor of that name, likewise. Errors: bad_input unless it is there.
at::Tensor tensor_of(const optimizer_state& from, const std::string& name, const at::Tensor& pattern);

/// The moments of an adamw inside.
void store(const adamw::state& inner, optimizer_state& into);
/// With those parameters. Errors: bad_input, as tensor_of() and read_numbers().
adamw::state stored_adamw(const optimizer_state& from, const at::Tensor& parameters);

std::unique_ptr<optimizer> make_dog(at::Tensor parameters);
std::unique_ptr<optimizer> make_prodigy(at::Tensor parameters);
std::unique_ptr<optimizer> make_mechanic(at::Tensor parameters, const adamw_config& config);
std::unique_ptr<optimizer> make_hypergradient(at::Tensor parameters, const adamw_config& config);

}  // namespace rldp::models

#pragma once
// What the methods with a geometry share: their releases as means, and the tensors of their state.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "privacy/methods/method.hpp"

namespace rldp::privacy {

/// A joint clip of the whole gradient to norm 1 after the geometry's M.
step_terms clip_in(std::shared_ptr<const geometry> shape);

/// A released sum over the public B, float64 [D]: what the mean gradient lies off the centre. Errors: failed for a
/// release of another length, or with a value that is not finite.
at::Tensor released_mean(const release& value, std::int64_t coordinates, double expected_batch);

/// The tensor of that name. Errors: bad_input unless it is there, float64, of that shape, all finite.
at::Tensor state_tensor(const method_state& from, const std::string& name, const std::vector<std::int64_t>& shape);

/// Errors: bad_input unless a state that save() of the method `name` wrote has these adapters.
void check_sizes(const method_state& from, const std::string& name, const std::vector<std::int64_t>& sizes);

}  // namespace rldp::privacy

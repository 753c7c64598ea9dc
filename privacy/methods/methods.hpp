#pragma once
// The makers behind make_method(), and what the methods with a geometry share.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "privacy/methods/method.hpp"

namespace rldp::privacy {

// Methods with a geometry. What they share: their releases as means, and the tensors of their state.

/// A joint clip of the whole gradient to norm 1 after the geometry's M.
step_terms clip_in(std::shared_ptr<const geometry> shape);

/// A released sum over the public B, float64 [D]: what the mean gradient lies off the centre. Errors: failed for a
/// release of another length, or with a value that is not finite.
at::Tensor released_mean(const release& value, std::int64_t coordinates, double expected_batch);

/// The tensor of that name. Errors: bad_input unless it is there, float64, of that shape, all finite.
at::Tensor state_tensor(const method_state& from, const std::string& name, const std::vector<std::int64_t>& shape);

/// Errors: bad_input unless a state that save() of the method `name` wrote has these adapters.
void check_sizes(const method_state& from, const std::string& name, const std::vector<std::int64_t>& sizes);

// Makers. Those behind make_method(), one family of methods per file.

/// D.
std::int64_t count_coordinates(const method_config& config);

/// static, dp_lora, dp_lora_literal, auto_s, psac, dp_adambc: a rule with radii that never change. The last tells the
/// optimiser what noise there is.
std::unique_ptr<method> make_fixed(const method_config& config, clip_rule rule, bool tells_noise = false);
/// autoclip_quantile.
std::unique_ptr<method> make_quantile(const method_config& config);
/// dcsgd_p and dcsgd_e.
std::unique_ptr<method> make_histogram_percentile(const method_config& config);
std::unique_ptr<method> make_histogram_error(const method_config& config);
/// hyfreedp.
std::unique_ptr<method> make_hyfreedp(const method_config& config);
/// adaclip, geoclip and scale_first clip in their own geometry: one joint clip of the whole gradient.
std::unique_ptr<method> make_adaclip(const method_config& config);
std::unique_ptr<method> make_geoclip(const method_config& config);
std::unique_ptr<method> make_scale_first(const method_config& config);

}  // namespace rldp::privacy

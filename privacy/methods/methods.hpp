#pragma once
// The makers behind make_method(), one family of methods per file.
#include "privacy/methods/method.hpp"

namespace rldp::privacy {

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

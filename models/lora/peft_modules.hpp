#pragma once
// Which modules an adapter of PEFT's adapts.
#include <functional>
#include <string>
#include <vector>

#include "models/architecture/model_config.hpp"

namespace rldp {
class json_reader;
}

namespace rldp::models {

/// Full names of the modules that PEFT chooses by target_modules, exclude_modules, layers_to_transform and
/// layers_pattern of adapter_config.json: a name that matches nothing is no error while another does. Of the parts of a
/// fused module, which PEFT does not know, those that are `stored`. Errors: bad_input naming file and key; where
/// nothing matches, or what does can't be adapted here.
std::vector<std::string> peft_modules(const json_reader& config, const model_config& model,
                                      const std::function<bool(const std::string& module)>& stored);

}  // namespace rldp::models

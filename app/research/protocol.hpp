#pragma once
// rldp compare --protocol.
#include <string>

#include "app/torch/grid_command.hpp"

namespace rldp::app {

struct protocol_options {
    std::string file;  ///< --protocol; empty: an ordinary comparison
};

/// Tunes every arm, tests it with what was chosen, and reports; the exit status.
int run_protocol(const grid_options& given, const protocol_options& how);

}  // namespace rldp::app

#pragma once
// How a made-up table is told when no one's words are to be learnt: some of its columns, invented words for what they
// are called and for values, a sentence of some form.
#include <string>

#include "rl/prepare/splitmix.hpp"

namespace rldp::eval {

/// A narrative template (JSON) for the columns of data::synthetic_table().
std::string random_template(rl::splitmix& random);

}  // namespace rldp::eval

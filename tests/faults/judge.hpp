#pragma once
// What a user may expect of any command, whatever happens to it: it ends, with a status that is documented, and says
// why in one line.
#include <string>

#include "tests/faults/process.hpp"

namespace rldp::testing {

/// How an answer was come by.
struct circumstances {
    bool killed = false;        ///< by us
    bool heard = true;          ///< its standard error could be written
    bool may_not_load = false;  ///< limits under which the loader itself may fail
};

/// Empty where there is nothing to object to.
std::string complaint(const answer& said, const circumstances& how = {});

/// The line that names what went wrong.
std::string error_line(const answer& said);

}  // namespace rldp::testing

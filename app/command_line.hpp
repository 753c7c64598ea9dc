#pragma once
// What the programs rldp and rldp-torch have in common: streams that can't hurt, one line for every error, the exit
// status.
#include <vector>

#include "app/commands.hpp"

namespace rldp::app {

/// Declares the subcommands, parses the command line and does what it asks for; the exit status.
int command_line(int argc, char** argv, const std::vector<declaration>& declarations);

}  // namespace rldp::app

#pragma once
// The command line of the programs rldp and rldp-torch, and the files that ship with them.
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "app/commands.hpp"

namespace rldp::app {

// What ships. Where its configurations and its small model are.

/// "config" in the source's root, beside the program where it was built, under share/ where it was installed.
inline std::string examples_directory() {
    std::error_code unknown;
    if (std::filesystem::exists("config/demo.json", unknown)) return "config";
    const auto here = std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path();
    for (const auto* beside : {"../config", "../share/rldp/config", "../../share/rldp/config"})
        if (const auto at = (here / beside).lexically_normal(); std::filesystem::exists(at / "demo.json", unknown))
            return at.string();
    return "config";
}

// Programs. What rldp and rldp-torch have in common: streams that can't hurt, one line for every error, the exit
// status.

/// Declares the subcommands, parses the command line and does what it asks for; the exit status.
int command_line(int argc, char** argv, const std::vector<declaration>& declarations);

}  // namespace rldp::app

#include "app/torch_commands.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

#include "config/base/require.hpp"

namespace rldp::app {

CLI::App* add_torch_command(CLI::App& program, std::string_view name) {
    const auto* found =
        std::find_if(torch_commands.begin(), torch_commands.end(), [&](const auto& each) { return each.name == name; });
    require(found != torch_commands.end(), "a subcommand of rldp-torch is not in its list");
    return program.add_subcommand(std::string(name), std::string(found->sentence));
}

}  // namespace rldp::app

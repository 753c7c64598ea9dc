#pragma once
// Subcommands that print a few named values.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "app/commands.hpp"
#include "config/base/output.hpp"

namespace rldp::app {

/// `make` gives an object of texts and numbers: a line each, or JSON with --json.
template <class Make>
void print_listing(CLI::App& command, action& chosen, Make make) {
    auto json = std::make_shared<bool>(false);
    command.add_flag("--json", *json, "print as JSON");
    command.callback([json, make, &chosen] {
        chosen = [json, make] {
            const nlohmann::json all = make();
            if (*json)
                say("{}\n", all.dump());
            else
                for (const auto& [name, value] : all.items())
                    say("{:<10}{}\n", name, value.is_string() ? value.template get<std::string>() : value.dump());
            return 0;
        };
    });
}

}  // namespace rldp::app

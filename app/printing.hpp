#pragma once
// How subcommands print findings and named values.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "base/output.hpp"
#include "eval/report/certificate.hpp"

namespace rldp::app {

// Findings. How verify commands print what they checked and what they could not.

inline void print_findings(const char* title, const std::vector<eval::finding>& all) {
    if (all.empty()) return;
    say("{}\n", title);
    for (const auto& each : all) say("  {:<15}{}\n", each.subject, each.sentence);
}

inline nlohmann::ordered_json to_json(const std::vector<eval::finding>& all) {
    auto out = nlohmann::ordered_json::object();
    for (const auto& each : all) out[each.subject] = each.sentence;
    return out;
}

// Listings. Subcommands that print a few named values.

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

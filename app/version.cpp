// rldp version and rldp reference.
#include <fmt/format.h>
#include <torch/version.h>

#include <CLI/CLI.hpp>
#include <caf/config.hpp>
#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "app/printing.hpp"
#include "config/config.hpp"
#include "version.hpp"

namespace rldp::app {

void add_version(CLI::App& program, action& chosen) {
    auto* command =
        program.add_subcommand("version", "Print the versions of rldp, and of LibTorch and CAF it was built with");
    command->footer("Example: rldp version --json");
    print_listing(*command, chosen, [] {
        return nlohmann::json{
            {"rldp", RLDP_VERSION},
            {"libtorch", TORCH_VERSION},
            {"caf", fmt::format("{}.{}.{}", CAF_MAJOR_VERSION, CAF_MINOR_VERSION, CAF_PATCH_VERSION)}};
    });
}

void add_reference(CLI::App& program, action& chosen) {
    auto* command = program.add_subcommand("reference", "Print the reference of every configuration key (Markdown)");
    auto schema = std::make_shared<bool>(false);
    command->add_flag("--json-schema", *schema,
                      "as a JSON Schema, with which editors complete and check configurations");
    command->footer("Example: rldp reference > config.md");
    command->callback([schema, &chosen] {
        chosen = [schema] {
            say_text(*schema ? config::reference_json_schema() : config::reference_markdown());
            return 0;
        };
    });
}

}  // namespace rldp::app

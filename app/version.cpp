// rldp version and rldp reference.
#include <fmt/format.h>
#include <torch/version.h>

#include <CLI/CLI.hpp>
#include <caf/config.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "app/blas_kernels.hpp"
#include "app/commands.hpp"
#include "app/listing.hpp"
#include "config/config.hpp"
#include "version.hpp"

namespace rldp::app {

namespace {
std::string blas_kernels() {
    const char* asked = std::getenv("OPENBLAS_CORETYPE");
    if (asked != nullptr && *asked != '\0') return fmt::format("{} (OPENBLAS_CORETYPE)", asked);
    const auto chosen = kernels_for(processor_here());
    return chosen.empty() ? "OpenBLAS's own choice" : fmt::format("{} (OPENBLAS_CORETYPE sets others)", chosen);
}

}  // namespace

void add_version(CLI::App& program, action& chosen) {
    auto* command =
        program.add_subcommand("version", "Print the versions of rldp, and of LibTorch and CAF it was built with");
    command->footer("Example: rldp version --json");
    print_listing(*command, chosen, [] {
        return nlohmann::json{
            {"rldp", RLDP_VERSION},
            {"libtorch", TORCH_VERSION},
            {"kernels", blas_kernels()},
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

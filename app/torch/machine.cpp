// rldp machine: what a bug report on speed or devices needs to say.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "app/printing.hpp"
#include "models/device.hpp"

namespace rldp::app {

void add_machine(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "machine");
    command->footer("Example: rldp machine --json");
    print_listing(*command, chosen, [] {
        return nlohmann::json{
            {"blas", models::blas_name()},
            {"threads", models::default_threads()},
            {"device", at::hasCUDA() ? fmt::format("cpu, cuda ({} devices)", at::getNumGPUs()) : "cpu"}};
    });
}

}  // namespace rldp::app

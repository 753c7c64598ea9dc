// rldp machine: what a bug report on speed or devices needs to say.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/utils.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "app/commands.hpp"
#include "app/listing.hpp"
#include "app/torch_commands.hpp"
#include "models/blas.hpp"

namespace rldp::app {

namespace {

/// The line of torch's build summary that names `what`.
std::string torch_setting(const std::string& what) {
    std::istringstream lines(torch::show_config());
    for (std::string line; std::getline(lines, line);) {
        const auto at = line.find(what + "=");
        if (at == std::string::npos) continue;
        const auto begin = at + what.size() + 1;
        return line.substr(begin, line.find_first_of(", ", begin) - begin);
    }
    return "unknown";
}

/// Torch's own summary says "generic" where a distribution linked it to whatever stands behind libblas.
std::string blas() {
    const auto found = models::blas_name();
    return found.empty() ? torch_setting("BLAS_INFO") : found;
}

}  // namespace

void add_machine(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "machine");
    command->footer("Example: rldp machine --json");
    print_listing(*command, chosen, [] {
        return nlohmann::json{
            {"blas", blas()},
            {"threads", models::default_threads()},
            {"device", at::hasCUDA() ? fmt::format("cpu, cuda ({} devices)", at::getNumGPUs()) : "cpu"}};
    });
}

}  // namespace rldp::app

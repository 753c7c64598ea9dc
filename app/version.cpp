#include "version.hpp"
#include "config/base/output.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <caf/config.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/commands.hpp"
#include "config/config.hpp"
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

nlohmann::json versions() {
    return {{"rldp", RLDP_VERSION},
            {"libtorch", TORCH_VERSION},
            {"caf", fmt::format("{}.{}.{}", CAF_MAJOR_VERSION, CAF_MINOR_VERSION, CAF_PATCH_VERSION)},
            {"blas", blas()},
            {"threads", models::default_threads()},
            {"device", at::hasCUDA() ? fmt::format("cpu, cuda ({} devices)", at::getNumGPUs()) : "cpu"}};
}

}  // namespace

void add_version(CLI::App& program, action& chosen) {
    auto* command =
        program.add_subcommand("version", "Print the versions of rldp, LibTorch, CAF, BLAS, and the devices");
    auto json = std::make_shared<bool>(false);
    command->add_flag("--json", *json, "print as JSON");
    command->footer("Example: rldp version --json");
    command->callback([json, &chosen] {
        chosen = [json] {
            const auto all = versions();
            if (*json)
                say("{}\n", all.dump());
            else
                for (const auto& [name, value] : all.items())
                    say("{:<10}{}\n", name, value.is_string() ? value.get<std::string>() : value.dump());
            return 0;
        };
    });
}

void add_reference(CLI::App& program, action& chosen) {
    auto* command = program.add_subcommand("reference", "Print the reference of every configuration key (Markdown)");
    command->footer("Example: rldp reference > config.md");
    command->callback([&chosen] {
        chosen = [] {
            say("{}", config::reference_markdown());
            return 0;
        };
    });
}

}  // namespace rldp::app

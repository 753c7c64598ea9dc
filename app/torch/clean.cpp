// rldp clean: finishes what a kill cut short.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "app/commands.hpp"
#include "base/output.hpp"
#include "run/run_end.hpp"

namespace rldp::app {

namespace {

int clean(const std::string& root) {
    const auto done = actors::clean(root);
    for (const auto& path : done.erased) say("erased {}\n", path.string());
    for (const auto& run : done.ended) say("{}: was cut while it ended; it is over now\n", run.string());
    for (const auto& run : done.unfinished)
        say("{0}: is unfinished, and keeps its key until rldp run --resume {0} has finished it\n", run.string());
    if (done.erased.empty() && done.ended.empty() && done.unfinished.empty())
        say("{}: nothing was left behind\n", root);
    return 0;
}

}  // namespace

void add_clean(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "clean");
    auto root = std::make_shared<std::string>();
    command->add_option("directory", *root, "a run, a grid, or a folder of them")->required();
    command->footer("Example: rldp clean runs");
    command->callback([root, &chosen] { chosen = [root] { return clean(*root); }; });
}

}  // namespace rldp::app

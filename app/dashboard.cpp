// rldp dashboard: runs and grids in a browser, followed without touching them.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <memory>

#include "app/commands.hpp"
#include "app/http_options.hpp"
#include "base/output.hpp"
#include "monitor/http/server.hpp"
#include "version.hpp"

namespace rldp::app {

namespace {

struct dashboard_arguments {
    std::vector<std::string> directories;
    monitor::http_options http{.address = "127.0.0.1:8787"};
};

int serve(const dashboard_arguments& given) {
    // Before any thread is there: all of them leave these to sigwait().
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    const monitor::http_server server(monitor::to_dashboard_config(given.http),
                                      {given.directories.begin(), given.directories.end()}, RLDP_VERSION);
    say("{}  Ctrl-C ends it\n", server.address());
    std::fflush(stdout);
    int which = 0;
    sigwait(&ends, &which);
    return 0;
}

}  // namespace

void add_dashboard(CLI::App& program, action& chosen) {
    auto* command = program.add_subcommand("dashboard", "Show runs and grids in a browser, as they go on");
    auto given = std::make_shared<dashboard_arguments>();
    command->add_option("directories", given->directories, "runs, grids, or folders that have some below them")
        ->required();
    command->add_option("--http", given->http.address, "[HOST:]PORT to serve at (default 127.0.0.1:8787)");
    add_access_options(*command, given->http);
    command->footer("Example: rldp dashboard runs\nBeyond this machine: docs/monitoring.md");
    command->callback([given, &chosen] { chosen = [given] { return serve(*given); }; });
}

}  // namespace rldp::app

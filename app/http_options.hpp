#pragma once
// The options of whatever serves a dashboard.
#include <CLI/CLI.hpp>

#include "monitor/http/server.hpp"

namespace rldp::app {

/// --tls-certificate, --tls-key, --client-ca, --token-file, --allow-host.
inline void add_access_options(CLI::App& command, monitor::http_options& given) {
    command.add_option("--tls-certificate", given.certificate, "dashboard: PEM certificate (rldp key new --tls HOST)");
    command.add_option("--tls-key", given.key, "dashboard: its PEM key");
    command.add_option("--client-ca", given.client_authority,
                       "dashboard: PEM certificate of who must have signed viewers' own");
    command.add_option("--token-file", given.token_file,
                       "dashboard: tokens, one of which viewers must show (rldp key new --tokens)");
    command.add_option("--allow-host", given.hosts, "dashboard: another name that it is called by, repeatable")
        ->allow_extra_args(false);
    if (auto* asked = command.get_option_no_throw("--dashboard"))
        for (const auto* name : {"--tls-certificate", "--tls-key", "--client-ca", "--token-file", "--allow-host"})
            command.get_option(name)->needs(asked);
}

}  // namespace rldp::app

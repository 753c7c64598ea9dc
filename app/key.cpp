// rldp key new: what signs certificates, and what a dashboard is served with.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.hpp"
#include "base/output.hpp"
#include "monitor/http/self_signed.hpp"
#include "privacy/keys/cluster_secret.hpp"
#include "privacy/keys/secrets.hpp"
#include "privacy/keys/signing_key.hpp"

namespace rldp::app {

namespace {

struct key_arguments {
    std::string path, tls;
    bool tokens = false, cluster = false;
};

int make_signing_key(const std::string& path) {
    const auto made = privacy::signing_key::create(path);
    say("{}      secret, mode 0600: signs certificates; keep it to yourself\n", path);
    say("{}.pub  public: give it to whoever checks them\n", path);
    say("fingerprint {}\n", made.public_half().fingerprint());
    return 0;
}

int make_certificate(const std::string& path, const std::string& host) {
    const auto fingerprint = monitor::make_self_signed(path, host);
    say("{}.pem  certificate of {}, for two years: --tls-certificate, and what viewers pin\n", path, host);
    say("{}.key  its secret key, mode 0600: --tls-key\n", path);
    say("SHA-256 fingerprint {}\n", fingerprint);
    return 0;
}

int make_tokens(const std::string& path) {
    monitor::make_tokens(path);
    say("{}  mode 0600: --token-file; a viewer's token sees runs, an operator's may also stop them\n", path);
    return 0;
}

int make_cluster_secret(const std::string& path) {
    privacy::cluster_secret::from_system().save(path);
    say("{}  mode 0600: cluster.secret; give every rank of a run a copy, and nobody else\n", path);
    return 0;
}

int make(const key_arguments& given) {
    privacy::require_directory_of(given.path);
    if (given.cluster) return make_cluster_secret(given.path);
    if (given.tokens) return make_tokens(given.path);
    return given.tls.empty() ? make_signing_key(given.path) : make_certificate(given.path, given.tls);
}

}  // namespace

void add_key(CLI::App& program, action& chosen) {
    auto* key = program.add_subcommand("key", "Make a key that signs certificates, or what a dashboard is served with");
    key->require_subcommand(1);
    auto* command = key->add_subcommand("new", "Make an Ed25519 pair: PATH (secret) and PATH.pub (public)");
    auto given = std::make_shared<key_arguments>();
    command->add_option("path", given->path, "where the secret goes; not in a run directory")->required();
    auto* tls = command->add_option("--tls", given->tls,
                                    "instead a certificate of this host, self-signed: PATH.pem and PATH.key");
    auto* tokens =
        command->add_flag("--tokens", given->tokens, "instead a file of tokens for a dashboard: PATH")->excludes(tls);
    command->add_flag("--cluster", given->cluster, "instead the secret that the ranks of a run share: PATH")
        ->excludes(tls)
        ->excludes(tokens);
    command->footer(
        "Examples: rldp key new ~/keys/owner\n"
        "          rldp key new --tls lab.example ~/keys/dashboard\n"
        "          rldp key new --tokens ~/keys/tokens\n"
        "          rldp key new --cluster ~/keys/cluster");
    command->callback([given, &chosen] { chosen = [given] { return make(*given); }; });
}

}  // namespace rldp::app

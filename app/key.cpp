// rldp key new: a pair of keys for signing certificates.
#include <fmt/format.h>

#include "app/commands.hpp"
#include "config/base/output.hpp"
#include "privacy/keys/signing_key.hpp"

namespace rldp::app {

namespace {

int make(const std::string& path) {
    const auto made = privacy::signing_key::create(path);
    say("{}      secret, mode 0600: signs certificates; keep it to yourself\n", path);
    say("{}.pub  public: give it to whoever checks them\n", path);
    say("fingerprint {}\n", made.public_half().fingerprint());
    return 0;
}

}  // namespace

void add_key(CLI::App& program, action& chosen) {
    auto* key = program.add_subcommand("key", "Make a key that signs certificates");
    key->require_subcommand(1);
    auto* command = key->add_subcommand("new", "Make an Ed25519 pair: PATH (secret) and PATH.pub (public)");
    auto path = std::make_shared<std::string>();
    command->add_option("path", *path, "where the secret goes; not in a run directory")->required();
    command->footer("Example: rldp key new ~/keys/owner");
    command->callback([path, &chosen] { chosen = [path] { return make(*path); }; });
}

}  // namespace rldp::app

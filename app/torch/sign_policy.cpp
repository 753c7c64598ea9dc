// rldp sign-policy: whoever signs a prepared policy vouches for it.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "app/commands.hpp"
#include "base/output.hpp"
#include "privacy/keys/signing_key.hpp"
#include "rl/prepared/prepared_policy.hpp"

namespace rldp::app {

namespace {

int sign_policy(const std::string& file, const std::string& key) {
    auto policy = rl::prepared_policy::load(file);
    policy.sign(privacy::signing_key::load(key));
    policy.save(file);
    say("{}: policy {:.12}…, signed by key {}\n", file, policy.digest(), policy.signer()->fingerprint());
    return 0;
}

}  // namespace

void add_sign_policy(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "sign-policy");
    auto file = std::make_shared<std::string>(), key = std::make_shared<std::string>();
    command->add_option("policy", *file, "policy file")->required();
    command->add_option("--key", *key, "secret key (rldp key new)")->required();
    command->footer("Example: rldp sign-policy policy.safetensors --key ~/keys/owner");
    command->callback([file, key, &chosen] { chosen = [file, key] { return sign_policy(*file, *key); }; });
}

}  // namespace rldp::app

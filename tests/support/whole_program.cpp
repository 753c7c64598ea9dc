#include "tests/support/whole_program.hpp"

#include <algorithm>

#include "app/command_line.hpp"

namespace rldp::testing {

namespace {

/// Of rldp and of rldp-torch.
const std::vector<app::declaration> every_command = {
    app::add_init,     app::add_run,      app::add_compare,   app::add_sweep,   app::add_tune,      app::add_check,
    app::add_pretrain, app::add_tokenize, app::add_generate,  app::add_merge,   app::add_monitor,   app::add_audit,
    app::add_ledger,   app::add_clean,    app::add_machine,   app::add_account, app::add_calibrate, app::add_key,
    app::add_sign,     app::add_verify,   app::add_reference, app::add_version};

}  // namespace

int whole_program(const std::vector<std::string>& arguments) {
    std::vector<std::string> words{"rldp"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers(words.size());
    std::transform(words.begin(), words.end(), pointers.begin(), [](std::string& word) { return word.data(); });
    return app::command_line(static_cast<int>(words.size()), pointers.data(), every_command);
}

}  // namespace rldp::testing

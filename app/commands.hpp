#pragma once
// One function per subcommand: declares its options on the program and, when it was chosen, returns the exit status.
#include <functional>

namespace CLI {
class App;
}

namespace rldp::app {

using action = std::function<int()>;

/// Adds a subcommand; `chosen` is set when the command line names it.
using declaration = void (*)(CLI::App& program, action& chosen);

void add_init(CLI::App& program, action& chosen);
void add_models(CLI::App& program, action& chosen);
void add_preview(CLI::App& program, action& chosen);
void add_run(CLI::App& program, action& chosen);
void add_compare(CLI::App& program, action& chosen);
void add_sweep(CLI::App& program, action& chosen);
void add_check(CLI::App& program, action& chosen);
void add_plan(CLI::App& program, action& chosen);
void add_prepare(CLI::App& program, action& chosen);
void add_sign_policy(CLI::App& program, action& chosen);
void add_pretrain(CLI::App& program, action& chosen);
void add_tokenize(CLI::App& program, action& chosen);
void add_generate(CLI::App& program, action& chosen);
void add_merge(CLI::App& program, action& chosen);
void add_monitor(CLI::App& program, action& chosen);
void add_audit(CLI::App& program, action& chosen);
void add_advise(CLI::App& program, action& chosen);
void add_account(CLI::App& program, action& chosen);
void add_calibrate(CLI::App& program, action& chosen);
void add_book(CLI::App& program, action& chosen);
void add_runs(CLI::App& program, action& chosen);
void add_ledger(CLI::App& program, action& chosen);
void add_dashboard(CLI::App& program, action& chosen);
void add_key(CLI::App& program, action& chosen);
void add_sign(CLI::App& program, action& chosen);
void add_verify(CLI::App& program, action& chosen);
void add_clean(CLI::App& program, action& chosen);
void add_reference(CLI::App& program, action& chosen);
void add_version(CLI::App& program, action& chosen);
void add_machine(CLI::App& program, action& chosen);

}  // namespace rldp::app

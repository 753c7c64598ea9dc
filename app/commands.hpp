#pragma once
// The subcommands, and which of them need LibTorch.
#include <array>
#include <functional>
#include <string_view>

namespace CLI {
class App;
}

namespace rldp::app {

// Functions. One per subcommand: declares its options on the program and, when it was chosen, returns the exit status.

using action = std::function<int()>;

/// Adds a subcommand; `chosen` is set when the command line names it.
using declaration = void (*)(CLI::App& program, action& chosen);

void add_init(CLI::App& program, action& chosen);
void add_models(CLI::App& program, action& chosen);
void add_preview(CLI::App& program, action& chosen);
void add_run(CLI::App& program, action& chosen);
void add_compare(CLI::App& program, action& chosen);
void add_sweep(CLI::App& program, action& chosen);
void add_tune(CLI::App& program, action& chosen);
void add_check(CLI::App& program, action& chosen);
void add_plan(CLI::App& program, action& chosen);
void add_prepare(CLI::App& program, action& chosen);
void add_sign_policy(CLI::App& program, action& chosen);
void add_pretrain(CLI::App& program, action& chosen);
void add_protocol(CLI::App& program, action& chosen);
void add_suite(CLI::App& program, action& chosen);
void add_tokenize(CLI::App& program, action& chosen);
void add_generate(CLI::App& program, action& chosen);
void add_synthesize(CLI::App& program, action& chosen);
void add_judge(CLI::App& program, action& chosen);
void add_merge(CLI::App& program, action& chosen);
void add_monitor(CLI::App& program, action& chosen);
void add_audit(CLI::App& program, action& chosen);
void add_advise(CLI::App& program, action& chosen);
void add_account(CLI::App& program, action& chosen);
void add_calibrate(CLI::App& program, action& chosen);
void add_book(CLI::App& program, action& chosen);
void add_runs(CLI::App& program, action& chosen);
void add_ledger(CLI::App& program, action& chosen);
void add_discover(CLI::App& program, action& chosen);
void add_distances(CLI::App& program, action& chosen);
void add_dashboard(CLI::App& program, action& chosen);
void add_key(CLI::App& program, action& chosen);
void add_publish(CLI::App& program, action& chosen);
void add_sign(CLI::App& program, action& chosen);
void add_verify(CLI::App& program, action& chosen);
void add_clean(CLI::App& program, action& chosen);
void add_reference(CLI::App& program, action& chosen);
void add_version(CLI::App& program, action& chosen);
void add_machine(CLI::App& program, action& chosen);

// LibTorch. Loading it takes most of a second, so the subcommands that need it live in a program of their own,
// rldp-torch, in whose place rldp puts itself when one of them is called.

enum class torch_program { everyday, research };

struct torch_command {
    std::string_view name, sentence;
    torch_program of = torch_program::everyday;
};

/// In the order of --help.
inline constexpr std::array torch_commands{
    torch_command{"init", "Look at a file of records and write a configuration that runs on it"},
    torch_command{"preview", "Show records as training will see them: told, tokenised, cut; private"},
    torch_command{"models", "List the models that can be fine-tuned, where they come from, and those that are here"},
    torch_command{"run", "Fine-tune privately: config in, adapter, ledger, metrics and report out"},
    torch_command{"compare", "Run methods side by side under one contract, and report which is better"},
    torch_command{"sweep", "Run one configuration over a grid of its keys' values"},
    torch_command{"tune", "Try settings and train with the best, all within one budget"},
    torch_command{"check", "Validate a configuration and print the plan; trains nothing"},
    torch_command{"plan", "Propose how a budget of examples or minutes is best divided into steps"},
    torch_command{"prepare-controller", "Make a policy that steers runs, on made-up tasks: no record is read",
                  torch_program::research},
    torch_command{"sign-policy", "Sign a prepared policy, for runs that demand it (rl.signer)"},
    torch_command{"pretrain", "Make a tiny public GPT-2 base from synthetic prose, as in config/tiny-gpt2",
                  torch_program::research},
    torch_command{"suite", "Run arms on many beds, as a file says that was written down beforehand",
                  torch_program::research},
    torch_command{"tokenize", "Turn lines on standard input into JSON arrays of token ids"},
    torch_command{"generate", "Continue a text with a model, with an adapter or without"},
    torch_command{"synthesize", "Make a table of rows in the words of a run's template, from its public side alone"},
    torch_command{"judge", "Compare a made-up table with a run's records: quality, and what it gives away; private"},
    torch_command{"merge", "Write a model with its adapter added as a plain Hugging Face directory"},
    torch_command{"monitor", "Watch a run that was started with --monitor; attach and detach at will"},
    torch_command{"audit", "Attack a run: extraction, membership, a lower bound on ε"},
    torch_command{"ledger", "Check what a run has charged"},
    torch_command{"clean",
                  "Erase the secrets that a killed process left behind, of runs that are over and of starts that never "
                  "became runs; a run that can be resumed is left as it is"},
    torch_command{"machine", "Print what LibTorch computes with here: BLAS, threads, devices"},
};

/// Declares one of them, with its sentence.
CLI::App* add_torch_command(CLI::App& program, std::string_view name);

}  // namespace rldp::app

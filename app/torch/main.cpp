// rldp-torch: the subcommands that need LibTorch. rldp puts this program in its place.
#include "app/command_line.hpp"

int main(int argc, char** argv) {
    using namespace rldp::app;
    return command_line(argc, argv,
                        {add_init,  add_preview, add_models,      add_run,      add_compare,  add_sweep,      add_tune,
                         add_check, add_plan,    add_sign_policy, add_tokenize, add_generate, add_synthesize, add_judge,
                         add_merge, add_monitor, add_audit,       add_ledger,   add_clean,    add_machine});
}

// rldp-research: the subcommands that only a paper needs. rldp puts this program in its place.
#include "app/command_line.hpp"

int main(int argc, char** argv) {
    using namespace rldp::app;
    return command_line(argc, argv, {add_prepare, add_pretrain, add_protocol, add_suite});
}

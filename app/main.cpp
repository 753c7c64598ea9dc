// rldp: private fine-tuning of language models under an (ε, δ) contract. This file only picks the subcommand.
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "app/commands.hpp"
#include "config/error.hpp"
#include "privacy/locked.hpp"

namespace {

/// One line for the user, whatever was thrown.
int report(const std::string& line, rldp::errc code) {
    fmt::print(stderr, "rldp: {}\n", line.substr(0, line.find('\n')));
    return static_cast<int>(code);
}

}  // namespace

int main(int argc, char** argv) {
    rldp::privacy::forbid_core_dumps();
    CLI::App program("Fine-tune a language model on records you must protect, under an (ε, δ) contract.", "rldp");
    program.require_subcommand(1);
    rldp::app::action chosen;
    rldp::app::add_run(program, chosen);
    rldp::app::add_compare(program, chosen);
    rldp::app::add_sweep(program, chosen);
    rldp::app::add_check(program, chosen);
    rldp::app::add_pretrain(program, chosen);
    rldp::app::add_tokenize(program, chosen);
    rldp::app::add_generate(program, chosen);
    rldp::app::add_merge(program, chosen);
    rldp::app::add_monitor(program, chosen);
    rldp::app::add_audit(program, chosen);
    rldp::app::add_account(program, chosen);
    rldp::app::add_calibrate(program, chosen);
    rldp::app::add_ledger(program, chosen);
    rldp::app::add_key(program, chosen);
    rldp::app::add_sign(program, chosen);
    rldp::app::add_verify(program, chosen);
    rldp::app::add_reference(program, chosen);
    rldp::app::add_version(program, chosen);
    try {
        program.parse(argc, argv);
        return chosen();
    } catch (const CLI::Success& help) {
        return program.exit(help);
    } catch (const CLI::ParseError& wrong) {
        return report(std::string(wrong.what()) + " (see rldp --help)", rldp::errc::bad_input);
    } catch (const rldp::error& e) {
        return report(e.what(), e.code());
    } catch (const std::exception& e) {
        return report(e.what(), rldp::errc::failed);
    }
}

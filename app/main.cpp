// rldp: private fine-tuning of language models under an (ε, δ) contract. This file only picks the subcommand.
#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include "app/commands.hpp"
#include "config/base/error.hpp"
#include "config/base/output.hpp"
#include "privacy/keys/locked.hpp"

namespace {

/// One line for the user, whatever was thrown.
int report(const std::string& line, rldp::errc code) {
    rldp::say(stderr, "rldp: {}\n", line.substr(0, line.find('\n')));
    return static_cast<int>(code);
}

/// A closed pipe is an error of the write, not the end of the run. Where one of the three standard streams is closed,
/// no file of the run may get its number and what is said there.
void secure_streams() {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);  // nor is a limit on the size of files
    for (int next = 0; next <= STDERR_FILENO;) {
        next = ::open("/dev/null", O_RDWR);
        if (next < 0 || next > STDERR_FILENO) {
            if (next >= 0) ::close(next);
            return;
        }
    }
}

/// A result that was not taken is an error, once everything else is done.
int with_output_checked(int status) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
    const int reason = errno;
    return status != 0
               ? status
               : report(std::string("standard output can't be written: ") + std::strerror(reason), rldp::errc::failed);
}

}  // namespace

int main(int argc, char** argv) {
    secure_streams();
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
    rldp::app::add_clean(program, chosen);
    rldp::app::add_reference(program, chosen);
    rldp::app::add_version(program, chosen);
    try {
        program.parse(argc, argv);
        return with_output_checked(chosen());
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

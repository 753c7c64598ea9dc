#include "app/command_line.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include "config/base/error.hpp"
#include "config/base/output.hpp"
#include "privacy/keys/locked.hpp"

namespace rldp::app {

namespace {

/// One line for the user, whatever was thrown.
int report(const std::string& line, errc code) {
    say(stderr, "rldp: {}\n", line.substr(0, line.find('\n')));
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
               : report(std::string("standard output can't be written: ") + std::strerror(reason), errc::failed);
}

}  // namespace

int command_line(int argc, char** argv, const std::vector<declaration>& declarations) {
    secure_streams();
    privacy::forbid_core_dumps();
    CLI::App program("Fine-tune a language model on records you must protect, under an (ε, δ) contract.", "rldp");
    program.require_subcommand(1);
    action chosen;
    for (const auto& declare : declarations) declare(program, chosen);
    try {
        program.parse(argc, argv);
        return with_output_checked(chosen());
    } catch (const CLI::Success& help) {
        return program.exit(help);
    } catch (const CLI::ParseError& wrong) {
        return report(std::string(wrong.what()) + " (see rldp --help)", errc::bad_input);
    } catch (const error& e) {
        return report(e.what(), e.code());
    } catch (const std::exception& e) {
        return report(e.what(), errc::failed);
    }
}

}  // namespace rldp::app

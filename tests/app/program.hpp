#pragma once
// Runs the built program as a user would: a command line in, exit status and both streams out.
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/files.hpp"

struct answer {
    int status;
    std::string out, err;
};

/// `arguments` are the shell's words; standard input is empty unless they redirect it. Budget books lie in
/// scratch/books.
inline answer rldp_says(const std::string& arguments, const std::filesystem::path& scratch,
                        const std::string& program = RLDP_PROGRAM) {
    const auto out = scratch / "stdout", err = scratch / "stderr";
    ::setenv("RLDP_BOOKS", (scratch / "books").c_str(), 1);
    const auto command = program + " " + arguments + " >" + out.string() + " 2>" + err.string() + " </dev/null";
    const int status = std::system(command.c_str());
    if (!WIFEXITED(status)) throw std::runtime_error("the program did not exit: " + command);
    return {WEXITSTATUS(status), rldp::read_file(out), rldp::read_file(err)};
}

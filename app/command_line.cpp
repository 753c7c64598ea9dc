#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/command_line.hpp"
#include "app/commands.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/output.hpp"
#include "base/system.hpp"
#include "base/text.hpp"
#include "privacy/keys/secrets.hpp"
#include "version.hpp"

namespace rldp::app {

CLI::App* add_torch_command(CLI::App& program, std::string_view name) {
    const auto* found =
        std::find_if(torch_commands.begin(), torch_commands.end(), [&](const auto& each) { return each.name == name; });
    require(found != torch_commands.end(), "a subcommand of rldp-torch is not in its list");
    return program.add_subcommand(std::string(name), std::string(found->sentence));
}

namespace {

/// Three dots only where several values may follow one another, not where an option is repeated.
class help_formatter : public CLI::Formatter {
    std::string make_option_opts(const CLI::Option* option) const override {
        auto out = CLI::Formatter::make_option_opts(option);
        const std::string_view dots = " ...";
        if (const auto at = out.find(dots); at != out.npos && !option->get_allow_extra_args())
            out.erase(at, dots.size());
        return out;
    }
};

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

/// What others call our commands.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> other_names{{{"train", "run"},
                                                                                     {"start", "run"},
                                                                                     {"resume", "run"},
                                                                                     {"finetune", "run"},
                                                                                     {"fine-tune", "run"},
                                                                                     {"validate", "check"},
                                                                                     {"attack", "audit"},
                                                                                     {"watch", "monitor"},
                                                                                     {"serve", "dashboard"},
                                                                                     {"tune", "sweep"},
                                                                                     {"epsilon", "account"},
                                                                                     {"config", "reference"}}};

std::vector<std::string> list_names(const CLI::App& program) {
    std::vector<std::string> out;
    for (const auto* one : program.get_subcommands([](const CLI::App*) { return true; }))
        out.push_back(one->get_name());
    return out;
}

/// The command that `word` may have meant; empty where none is near.
std::string nearest_command(const CLI::App& program, std::string_view word) {
    std::vector<std::pair<std::size_t, std::string>> near;
    const auto consider = [&](std::string_view spelt, std::string_view command) {
        near.emplace_back(edit_distance(word, spelt), command);
    };
    for (const auto& name : list_names(program)) consider(name, name);
    for (const auto& [other, command] : other_names) consider(other, command);
    const auto nearest = std::min_element(near.begin(), near.end());
    return nearest->first <= std::max<std::size_t>(2, word.size() / 2) ? nearest->second : "";
}

std::string no_such_command(const CLI::App& program, std::string_view word) {
    const auto near = nearest_command(program, word);
    return fmt::format("{}: no such command{} (see rldp --help)", word,
                       near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

/// The innermost command that the line names.
const CLI::App& find_command(const CLI::App& program) {
    const auto* out = &program;
    for (auto inner = out->get_subcommands(); !inner.empty(); inner = out->get_subcommands()) out = inner.front();
    return *out;
}

std::string full_name(const CLI::App& command) {
    return command.get_parent() == nullptr ? command.get_name()
                                           : full_name(*command.get_parent()) + " " + command.get_name();
}

/// A second key=value behind an option that takes one at a time, such as --set; empty where there is none.
std::string value_without_option(const CLI::App& command, const std::vector<std::string>& words) {
    for (std::size_t i = 2; i < words.size() && words[i - 2] != "--"; ++i) {
        const auto* option = words[i - 2].starts_with("--") ? command.get_option_no_throw(words[i - 2]) : nullptr;
        if (option == nullptr || option->get_type_size() == 0 || option->get_allow_extra_args()) continue;
        if (!words[i].starts_with("-") && words[i - 1].find('=') < words[i - 1].size() &&
            words[i].find('=') < words[i].size())
            return fmt::format("{0}: {1} takes one at a time; write {1} before it, too", words[i], words[i - 2]);
    }
    return "";
}

/// The first option that a command knows nothing of, else the first word that it has no use for.
std::string unexpected(const CLI::App& command, const std::vector<std::string>& words) {
    const auto name_of = [](const std::string& word) { return word.substr(0, word.find('=')); };
    for (const auto& word : words) {
        if (word == "--") break;
        if (!word.starts_with("--") || command.get_option_no_throw(name_of(word)) != nullptr) continue;
        std::pair<std::size_t, std::string> nearest{word.size(), ""};
        for (const auto* option : command.get_options())
            for (const auto& known : option->get_lnames())
                nearest = std::min(nearest, {edit_distance(name_of(word).substr(2), known), known});
        const bool near = 3 * nearest.first <= name_of(word).size();
        return fmt::format("{}: no such option{}", name_of(word),
                           near ? fmt::format("; did you mean --{}?", nearest.second) : "");
    }
    if (auto alone = value_without_option(command, words); !alone.empty()) return alone;
    const auto left = command.remaining();
    const auto first = std::find_first_of(words.begin(), words.end(), left.begin(), left.end());
    return first == words.end() ? "" : fmt::format("{}: one word too many", *first);
}

/// What is asked for, of an option that is missing.
std::string missing_option(const CLI::App& command, const CLI::RequiredError& wrong) {
    const std::string said = wrong.what();
    const auto* option = command.get_option_no_throw(said.substr(0, said.find(' ')));
    return option == nullptr ? said : fmt::format("{}: {}", said, option->get_description());
}

int report_line(const CLI::App& program, const std::vector<std::string>& words, const CLI::ParseError& wrong) {
    const auto& command = find_command(program);
    const auto* required = dynamic_cast<const CLI::RequiredError*>(&wrong);
    const bool extras = required != nullptr || dynamic_cast<const CLI::ExtrasError*>(&wrong) != nullptr;
    auto what = extras ? unexpected(command, words) : std::string();
    if (what.empty()) what = required != nullptr ? missing_option(command, *required) : wrong.what();
    return report(fmt::format("{} (see {} --help)", what, full_name(command)), errc::bad_input);
}

/// "--out=~/runs" and "--set data.path=~/records.csv" as their writer means them.
std::vector<std::string> list_arguments(int argc, char** argv) {
    std::vector<std::string> out(argv, argv + argc);
    for (std::size_t i = 1; i < out.size(); ++i) {
        const auto value = out[i].find("=~") + 1;
        if (value > 0 && (out[i].starts_with("--") || out[i - 1] == "--set"))
            out[i] = out[i].substr(0, value) + with_home(out[i].substr(value));
    }
    return out;
}

/// Examples name what ships as it stands in the source's root; elsewhere they would name what is not there.
std::string with_examples_found(std::string text) {
    constexpr std::string_view here = "config/";
    const auto there = examples_directory() + "/";
    for (std::size_t at = 0; (at = text.find(here, at)) != std::string::npos; at += there.size())
        text.replace(at, here.size(), there);
    return text;
}

void find_examples(CLI::App& command) {
    command.footer(with_examples_found(command.get_footer()));
    for (auto* inner : command.get_subcommands([](CLI::App*) { return true; })) find_examples(*inner);
}

}  // namespace

int command_line(int argc, char** argv, const std::vector<declaration>& declarations) {
    secure_streams();
    privacy::forbid_core_dumps();
    CLI::App program("Fine-tune a language model on records you must protect, under an (ε, δ) contract.", "rldp");
    program.require_subcommand(1);
    program.formatter(std::make_shared<help_formatter>());
    action chosen;
    for (const auto& declare : declarations) declare(program, chosen);
    find_examples(program);
    program.set_version_flag("--version", "rldp " RLDP_VERSION,
                             "Print the version; rldp version says what it was built with");
    if (argc < 2) {
        say_text(program.help() + with_examples_found("\nBegin with: rldp check config/demo.json, then rldp run "
                                                      "config/demo.json\n"),
                 stderr);
        return static_cast<int>(errc::bad_input);
    }
    const std::string_view first = argv[1];
    if (first.starts_with('-') && program.get_option_no_throw(std::string(first)) == nullptr)
        return report(fmt::format("{}: no such option before a command (see rldp --help)", first), errc::bad_input);
    if (first == "help" && argc == 2) {
        say_text(program.help());
        return with_output_checked(0);
    }
    const auto names = list_names(program);
    if (!first.starts_with('-') && std::find(names.begin(), names.end(), first) == names.end())
        return report(no_such_command(program, first), errc::bad_input);
    try {
        std::vector<std::string> words = list_arguments(argc, argv);
        std::reverse(words.begin() + 1, words.end());
        words.erase(words.begin());
        program.parse(words);  // which takes them from the back
        return with_output_checked(chosen());
    } catch (const CLI::Success& help) {
        return program.exit(help);
    } catch (const CLI::ParseError& wrong) {
        return report_line(program, {argv + 1, argv + argc}, wrong);
    } catch (const error& e) {
        return report(e.what(), e.code());
    } catch (const std::filesystem::filesystem_error& e) {
        return report(describe_exception(e), classify_errno(e.code().value()));
    } catch (const std::exception& e) {
        return report(describe_exception(e), errc::failed);
    }
}

}  // namespace rldp::app

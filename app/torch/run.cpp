#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>

#include "actors/follower.hpp"
#include "actors/launch.hpp"
#include "app/commands.hpp"
#include "app/words.hpp"
#include "base/data_names.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/output.hpp"
#include "config/config.hpp"
#include "data/sources/piped_rows.hpp"
#include "eval/report/run_report.hpp"
#include "models/weights.hpp"
#include "monitor/http/server.hpp"
#include "monitor/terminal/live_line.hpp"
#include "monitor/terminal/terminal.hpp"
#include "privacy/spending/certificate.hpp"
#include "run/artifacts/run_directory.hpp"
#include "run/memory.hpp"
#include "run/ranks/processes.hpp"
#include "run/run_end.hpp"
#include "run/signals.hpp"
#include "version.hpp"

namespace rldp::app {

namespace {

struct run_arguments {
    std::string config, resume, out, lessons, corpora, account, monitor, dashboard, sign;
    std::vector<std::string> set;
    bool json = false, quiet = false, verbose = false, private_counts = false, resume_or_start = false,
         verify_model = false, accept_lost_lines = false;
    std::size_t workers = 1;
    int restarts = 3;
};

/// A line that is rewritten, on the owner's own terminal: nothing else shows how long something took.
actors::show live_progress() {
    return [time = std::make_shared<monitor::time_left>(),
            line = std::make_shared<monitor::live_line>()](const monitor::run_view& seen) {
        if (seen.steps == 0) return;
        time->observe(seen, monitor::time_left::clock::now());
        line->show(
            [seen, left = time->estimate()](std::size_t width) { return monitor::progress_line(seen, left, width); });
        if (monitor::is_over(seen)) line->keep();
    };
}

/// A line at every tenth of the steps or, `verbose`, at every step; the same lines whatever the clock.
actors::show progress_lines(bool verbose) {
    return [verbose, shown = std::int64_t{-1}](const monitor::run_view& seen) mutable {
        if (seen.steps == 0) return;
        const std::int64_t tenth = seen.step * 10 / seen.steps;
        if (!verbose && !monitor::is_over(seen) && tenth == shown) return;
        shown = tenth;
        say(stderr, "{}\n", monitor::progress_line(seen, {}, 200));
    };
}

void print_plan(const actors::run_plan& plan, bool counts, bool verbose) {
    say(stderr,
        "N = {} units, sample rate {:.3g}, {} steps, noise multiplier {:.4f}, {} clip groups, {} trainable "
        "numbers\n",
        plan.population, plan.sample_rate, plan.steps, plan.noise_multiplier, plan.groups.size(),
        plan.trainable_parameters);
    if (counts && plan.counts)
        say(stderr,
            "PRIVATE, not to be passed on: {} training units, {} records, {} of them cut to {} tokens, {} canaries "
            "planted\n",
            plan.counts->units, plan.counts->records, plan.counts->cut, plan.max_tokens, plan.counts->canaries);
    if (counts && plan.counts && !plan.counts->book.empty())
        say(stderr, "PRIVATE, not to be passed on: budget book {}\n", plan.counts->book);
    if (verbose) {
        for (const auto& one : plan.choices) say(stderr, "chosen: {} = {} ({})\n", one.key, one.value, one.reason);
        for (const auto& sentence : plan.controller) say(stderr, "controller: {}\n", sentence);
        say(stderr, "memory, estimated: {:.0f} MiB\n", static_cast<double>(plan.memory.total()) / (1 << 20));
    }
    for (const auto& warning : plan.warnings) say(stderr, "warning: {}\n", warning);
}

std::optional<monitor::http_config> dashboard_config(const config::monitor_section& keys, const std::string& asked) {
    if (asked.empty() && !keys.http) return std::nullopt;
    return monitor::to_dashboard_config({.address = asked.empty() ? *keys.http : asked,
                                         .certificate = keys.tls_certificate.value_or(""),
                                         .key = keys.tls_key.value_or(""),
                                         .client_authority = keys.client_ca.value_or(""),
                                         .token_file = keys.token_file.value_or(""),
                                         .hosts = keys.allow_hosts});
}

std::string number(double x) {
    return std::isnan(x) ? "–" : std::isinf(x) ? "∞" : x < 1e9 ? fmt::format("{:.4f}", x) : fmt::format("{:.3e}", x);
}

void print_summary(const eval::run_summary& run, const std::filesystem::path& directory) {
    const auto row = [](const std::string& name, const std::string& value) { say("  {:<34}{}\n", name, value); };
    say("\n{}: {} of {} steps{}\n", name_of(run.how), run.steps_done, run.steps_planned,
        run.steps_lost > 0 ? fmt::format(", {} lost to crashes or a stop, and still charged", run.steps_lost) : "");
    const auto within = [](const std::optional<eval::interval>& in) {
        return in ? fmt::format("  ({} to {}, 95 % of the noise)", number(in->low), number(in->high)) : std::string();
    };
    if (run.held_out == publication::none) {
        row("held-out figures", "not published (eval.publish)");
    } else {
        row("perplexity before", number(run.perplexity_before) + within(run.perplexity_before_in));
        row("perplexity after", number(run.perplexity_after.value_or(std::nan(""))) + within(run.perplexity_after_in));
        if (run.held_out == publication::raw)
            row("perplexity, best seen", number(run.perplexity_best.value_or(std::nan(""))));
    }
    if (run.accuracy_after) row("accuracy after", number(*run.accuracy_after) + within(run.accuracy_after_in));
    if (run.template_perplexity)
        row("perplexity of the template alone",
            fmt::format("{}  (its words by heart, values by how often each occurs)", number(*run.template_perplexity)));
    if (const auto learned = eval::what_was_learned(run); !learned.empty()) row("learned", learned);
    row(fmt::format("guaranteed ε at δ = {:g}", run.delta),
        run.guarantee().holds() ? fmt::format("{} (budget {}), for {}", number(run.epsilon_guaranteed),
                                              number(run.epsilon_budget), privacy::protected_by(run.held_out))
                                : fmt::format("NONE: {}", fmt::join(run.guarantee().voids(), "; ")));
    for (const auto& [name, value] : run.epsilon_spent)
        row(fmt::format("ε spent, {}", name),
            number(value) + (run.upper_bound.at(name) ? "" : "  (an approximation that can under-report)"));
    if (run.printed_formula_epsilon)
        row("ε spent, printed formula", number(*run.printed_formula_epsilon) + "  (the publication's; no bound)");
    if (run.tight_epsilon_as_released)
        row("tight ε of what was released",
            number(*run.tight_epsilon_as_released) + "  (raw observations void even that)");
    const eval::run_directory where{directory};
    const bool whole = std::filesystem::exists(where.model());
    row(whole ? "model" : "adapter", (whole ? where.model() : where.adapter()).string());
    row("ledger", (directory / "public/ledger.jsonl").string());
    row("metrics", (directory / "public/metrics.jsonl").string());
    row("report", (directory / "public/report.html").string());
    row("certificate", (directory / "public/certificate.html").string());
    row("PRIVATE: exact held-out figures", where.held_out().string());
}

/// This process's command line without --workers and --restarts.
std::vector<std::string> arguments_of_ranks() {
    std::ifstream own("/proc/self/cmdline");
    const std::string text{std::istreambuf_iterator<char>(own), {}};
    std::vector<std::string> out;
    for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
        end = std::min(text.find('\0', at), text.size());
        out.push_back(text.substr(at, end - at));
    }
    for (const std::string option : {"--workers", "--restarts"}) {
        const auto found =
            std::find_if(out.begin(), out.end(), [&](const auto& each) { return each.starts_with(option); });
        if (found != out.end()) out.erase(found, found + (*found == option ? 2 : 1));
    }
    return out;
}

/// Whether so many ranks may come to share their base, which they choose when they have met.
bool may_share(const config::run_config& config, std::size_t ranks) {
    if (config.model.shard) return *config.model.shard;
    return !config.train.trains_base() &&
           actors::shares_well(models::read_model(config.model.path), static_cast<std::int64_t>(ranks));
}

int run_workers(const run_arguments& given, const config::run_config& config) {
    if (is_piped(config.data.path)) data::standard_rows();  // which every rank inherits, sealed
    ranks::local_ranks how{.ranks = given.workers,
                           .meshed = may_share(config, given.workers),
                           .arguments = arguments_of_ranks(),
                           .attempts = 1 + given.restarts};
    how.again_arguments = how.arguments;
    how.again = "go on with the same command";
    if (given.resume.empty() && !given.resume_or_start) {
        how.again_arguments.emplace_back("--resume-or-start");
        how.again += " and --resume-or-start";
    }
    how.say = [](const std::string& text) { say_text(text, stderr); };
    return ranks::run_local_ranks(how);
}

/// The ranks that this process is one of; null where it is alone.
std::shared_ptr<ranks::team> make_team(const config::run_config& config, const std::optional<ranks::place>& where) {
    const auto& keys = config.cluster;
    if (!where) return nullptr;
    refuse_unless(!config.device.starts_with("cuda:"),
                  fmt::format("device: {} is one device, and of several ranks each takes its own; use \"cuda\", and "
                              "CUDA_VISIBLE_DEVICES for which",
                              config.device));
    if (config.device == "cuda") {
        const auto device = ranks::device_of_rank(std::getenv("CUDA_VISIBLE_DEVICES"), where->local_rank);
        ::setenv("CUDA_VISIBLE_DEVICES", device.c_str(), 1);
    }
    const bool inherits = where->launcher > 0;
    refuse_unless(inherits || keys.secret.has_value(),
                  fmt::format("cluster.secret: this is rank {} of {}, and ranks know each other by a secret; make one "
                              "with rldp key new --cluster PATH and give every rank the file",
                              where->rank, where->ranks));
    const auto secret = inherits ? ranks::inherited_secret(*where) : privacy::cluster_secret::load(*keys.secret);
    return std::make_shared<ranks::team>(*where, secret, std::chrono::seconds(keys.timeout),
                                         [](const std::string& line) {
                                             // Somewhere a call waits for ever, so nothing can end in order; every
                                             // charge and release is on disk.
                                             say(stderr, "rldp: {}\n", line);
                                             _exit(static_cast<int>(errc::failed));
                                         });
}

/// Where the run goes on, or begins.
struct beginning {
    std::filesystem::path directory;
    config::run_config config;
    bool resumed = false;
};

std::filesystem::path named(const std::string& path) {
    const auto clean = std::filesystem::path(path).lexically_normal();
    return clean.has_filename() ? clean : clean.parent_path();  // "runs/first/" is runs/first
}

beginning find_beginning(const run_arguments& given) {
    if (!given.resume.empty()) {
        const eval::run_directory own{named(given.resume)};
        // Where there is none, resume_run says what is missing.
        return {own.root, std::filesystem::exists(own.config()) ? eval::read_configuration(own) : config::run_config{},
                true};
    }
    beginning out{given.out.empty() ? std::filesystem::path("runs") / std::filesystem::path(given.config).stem()
                                    : named(given.out),
                  eval::load_configuration(given.config, given.set)};
    out.resumed = given.resume_or_start && std::filesystem::exists(eval::run_directory{out.directory}.ledger());
    return out;
}

/// What rank 0 tells the others first: whether there is anything to do.
const std::string nothing_to_do = "over", go = "go";

actors::opening make_opening(const run_arguments& given) {
    const auto place = [](const std::string& path) {
        return path.empty() ? std::nullopt : std::optional<std::filesystem::path>(path);
    };
    return {.lessons = place(given.lessons),
            .corpora = place(given.corpora),
            .account = place(given.account),
            .verify_model = given.verify_model,
            .accept_lost_lines = given.accept_lost_lines,
            .tell = given.quiet ? on_loading{} : monitor::loading_line()};
}

int follow(const beginning& from, const actors::opening& how, const std::shared_ptr<ranks::team>& team) {
    if (team->broadcast() == nothing_to_do) {
        team->leave();
        return 0;
    }
    actors::signal_watch signals;
    signals.on_signal([] {});  // a launcher tells all ranks to stop: the first ends the step, and then the others
    actors::follow([&] { return actors::join_run(from.config, from.directory, how, *team); }, team,
                   eval::run_directory{from.directory}.log());
    return 0;
}

void say_interrupted(const std::filesystem::path& directory) {
    say(stderr, "rldp: interrupted; go on with: rldp run --resume {}\n", shell_word(directory.string()));
}

/// What a signal says that ends the process at once.
void say_cut(const std::filesystem::path& directory) {
    const eval::run_directory where{directory};
    if (!std::filesystem::exists(where.ledger()))
        say(stderr, "rldp: interrupted before the run began; nothing was spent\n");
    else if (std::filesystem::exists(where.key()) || std::filesystem::exists(where.waiting_certificate()))
        say_interrupted(directory);
}

void say_next(const eval::run_summary& summary, const eval::run_directory& where) {
    say("next: {}\n", eval::advise_next(summary, eval::read_metrics(where.metrics()), read_text(where.config())));
}

/// Prints it; the exit status.
int tell_end(const run_arguments& given, const eval::run_summary& summary, const std::filesystem::path& directory) {
    if (given.json)
        say_text(eval::to_json(summary) + "\n");
    else
        print_summary(summary, directory);
    if (!given.json && summary.how != eval::ending::interrupted) say_next(summary, {directory});
    if (summary.how == eval::ending::interrupted) {
        say_interrupted(directory);
        return static_cast<int>(errc::interrupted);
    }
    return summary.how == eval::ending::budget_exhausted ? static_cast<int>(errc::budget_exhausted) : 0;
}

/// All steps are made, and nothing is missing but the end of the end.
int end_what_was_cut(const run_arguments& given, const std::filesystem::path& directory) {
    const eval::run_directory where{directory};
    actors::finish_end(where);
    return tell_end(given, eval::parse_summary(read_text(where.summary())), directory);
}

int run(const run_arguments& given) {
    if (given.config.empty() == given.resume.empty())
        refuse("run: give a CONFIG, or --resume DIR (not both); for example rldp run config/demo.json");
    if (!given.resume.empty() && (!given.set.empty() || !given.out.empty() || !given.lessons.empty()))
        refuse("run: --resume goes on with the run's own configuration; leave --set, --out and --lessons away");
    refuse_unless(!given.accept_lost_lines || !given.resume.empty() || given.resume_or_start,
                  "run: --accept-lost-lines is for a run that goes on; give --resume DIR too");
    if (given.workers > 1) return run_workers(given, find_beginning(given).config);

    const auto where = ranks::place_from([](const char* name) { return std::getenv(name); });
    const bool first = !where || where->rank == 0;
    // Before anything starts: a key that can't sign is no surprise for the end of a long run. Only rank 0 has it.
    const auto key = given.sign.empty() || !first
                         ? nullptr
                         : std::make_shared<const privacy::signing_key>(privacy::signing_key::load(given.sign));
    const auto from = find_beginning(given);
    const auto& directory = from.directory;
    const auto team = make_team(from.config, where);
    if (!first) return follow(from, make_opening(given), team);
    const auto found = from.resumed ? eval::read_state({directory}) : eval::run_state::none;
    const bool over = found == eval::run_state::ending || (found == eval::run_state::over && given.resume_or_start);
    if (team) team->broadcast(over ? nothing_to_do : go);
    if (over) {
        if (team) team->leave();
        if (found == eval::run_state::ending) return end_what_was_cut(given, directory);
        if (!given.quiet) say(stderr, "rldp: {}: that run has finished already\n", directory.string());
        return 0;
    }
    const auto how = make_opening(given);
    const auto open = [&] {
        return from.resumed ? actors::resume_run(directory, how, team)
                            : actors::create_run(from.config, directory, how, team);
    };
    const auto& watched = from.config.monitor;
    const auto attach_at = given.monitor.empty() ? watched.address : given.monitor;
    const auto monitored = attach_at ? std::optional(monitor::to_monitor_config(*attach_at)) : std::nullopt;
    const auto dashboard = dashboard_config(watched, given.dashboard);

    const bool show = !given.quiet, live = isatty(STDERR_FILENO) != 0 && !given.verbose;
    const auto name = std::filesystem::absolute(directory).lexically_normal().filename().string();
    const auto summary = actors::launch(
        open, {.name = name,
               .monitor = monitored,
               .dashboard = dashboard,
               .program_version = RLDP_VERSION,
               .on_dashboard = [](const auto& address) { say(stderr, "dashboard: {}\n", address); },
               .display = show && live ? live_progress() : actors::show{},
               .progress = show && !live ? progress_lines(given.verbose) : actors::show{},
               .on_plan =
                   [show, counts = given.private_counts, verbose = given.verbose](const actors::run_plan& plan) {
                       if (show) print_plan(plan, counts, verbose);
                   },
               .sign = key,
               .on_cut = [directory] { say_cut(directory); }});
    return tell_end(given, summary, directory);
}

}  // namespace

void add_run(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "run");
    auto given = std::make_shared<run_arguments>();
    command->add_option("config", given->config, "configuration file (JSON)");
    command->add_option("--set", given->set, "override a key: dotted.key=json, repeatable")->allow_extra_args(false);
    command->add_option("--out", given->out, "run directory to make (default runs/NAME-OF-CONFIG)");
    command->add_option("--lessons", given->lessons,
                        "directory where runs share what the records of public.path teach");
    command->add_option("--corpora", given->corpora,
                        "directory where runs share their records as tokens, sealed (see data.cache)");
    command->add_option("--account", given->account,
                        "directory of the tuning that this is a run of; rldp tune gives it to its runs");
    command->add_option("--resume", given->resume, "go on with the interrupted run in this directory");
    command->add_flag("--resume-or-start", given->resume_or_start,
                      "go on with the run in --out where there is one, else begin it: for jobs that are queued again");
    command->add_flag("--verify-model", given->verify_model,
                      "read the model's weights again when a run goes on, also where their files' sizes and times are "
                      "those of its beginning");
    command->add_flag("--accept-lost-lines", given->accept_lost_lines,
                      "a run goes on although lines of public/metrics.jsonl are lost that can't be made again: their "
                      "rows stay empty, and say so");
    command
        ->add_option("--workers", given->workers,
                     "so many processes of this machine compute the run together; each has a share of the processors")
        ->check(CLI::Range(1, 1024));
    command
        ->add_option("--restarts", given->restarts,
                     "how often --workers begins its processes again where one of them dies (default 3)")
        ->check(CLI::Range(0, 1000000));
    command->add_option("--sign", given->sign, "sign the certificate with this secret key (rldp key new)");
    command->add_option("--monitor", given->monitor, "show the run to rldp monitor at HOST:PORT (loopback)");
    command->add_option("--dashboard", given->dashboard, "show the run to browsers at [HOST:]PORT");
    command->add_flag("--json", given->json, "print the result as JSON");
    command->add_flag("--quiet", given->quiet, "no progress");
    command->add_flag("--verbose", given->verbose, "a line of progress for every step, and what was chosen and why");
    command->add_flag("--private-counts", given->private_counts,
                      "also exact numbers of units and records: private, not to be passed on");
    command->footer(
        "Example: rldp run config/demo.json --set train.steps=60 --out runs/first --monitor 127.0.0.1:4242\n"
        "Exit status: 0 done, 1 failed, 2 bad input, 3 budget exhausted early, 130 interrupted (resumable)");
    command->callback([given, &chosen] { chosen = [given] { return run(*given); }; });
}

}  // namespace rldp::app

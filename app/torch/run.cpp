#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <memory>

#include "actors/launch.hpp"
#include "app/commands.hpp"
#include "app/torch_commands.hpp"
#include "config/base/error.hpp"
#include "config/base/output.hpp"
#include "config/config.hpp"
#include "monitor/http/options.hpp"
#include "monitor/stream/endpoint.hpp"
#include "monitor/terminal/terminal.hpp"
#include "version.hpp"

namespace rldp::app {

namespace {

struct run_arguments {
    std::string config, resume, out, lessons, monitor, dashboard, sign;
    std::vector<std::string> set;
    bool json = false, quiet = false, private_counts = false;
};

std::size_t terminal_width() {
    winsize size{};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// A bar that rewrites its line on a terminal; elsewhere a line now and then.
actors::show progress_bar() {
    return [terminal = isatty(STDERR_FILENO) != 0, time = std::make_shared<monitor::time_left>(),
            shown = std::int64_t{-1}](const monitor::telemetry& seen) mutable {
        if (seen.steps == 0) return;
        time->observe(seen, monitor::time_left::clock::now());
        const bool over = monitor::is_over(seen);
        const std::int64_t tenth = seen.step * 10 / seen.steps;
        if (!terminal && !over && tenth == shown) return;
        shown = tenth;
        const auto line = monitor::progress_line(seen, time->estimate(), terminal ? terminal_width() - 1 : 200);
        say(stderr, "{}{}{}", terminal ? "\r\x1b[K" : "", line, terminal && !over ? "" : "\n");
    };
}

void print_plan(const actors::run_plan& plan, bool counts) {
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
    for (const auto& warning : plan.warnings) say(stderr, "warning: {}\n", warning);
}

std::optional<monitor::http_config> dashboard_of(const config::monitor_section& keys, const std::string& asked) {
    if (asked.empty() && !keys.http) return std::nullopt;
    return monitor::config_of({.address = asked.empty() ? *keys.http : asked,
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
        run.steps_lost > 0 ? fmt::format(", {} lost to crashes and still charged", run.steps_lost) : "");
    row("perplexity before", number(run.perplexity_before));
    row("perplexity after", number(run.perplexity_after.value_or(std::nan(""))));
    row("perplexity, best seen", number(run.perplexity_best.value_or(std::nan(""))));
    row(fmt::format("guaranteed ε at δ = {:g}", run.delta),
        run.guarantee().holds()
            ? fmt::format("{} (budget {})", number(run.guaranteed_epsilon), number(run.epsilon_budget))
            : fmt::format("NONE: {}", fmt::join(run.guarantee().voids(), "; ")));
    for (const auto& [name, value] : run.epsilon)
        row(fmt::format("ε spent, {}", name),
            number(value) + (run.upper_bound.at(name) ? "" : "  (an approximation that can under-report)"));
    if (run.printed_formula_epsilon)
        row("ε spent, printed formula", number(*run.printed_formula_epsilon) + "  (the publication's; no bound)");
    if (run.tight_epsilon_as_released)
        row("tight ε of what was released",
            number(*run.tight_epsilon_as_released) + "  (raw observations void even that)");
    row("adapter", (directory / "public/adapter").string());
    row("ledger", (directory / "public/ledger.jsonl").string());
    row("metrics", (directory / "public/metrics.jsonl").string());
    row("report", (directory / "public/report.html").string());
    row("certificate", (directory / "public/certificate.html").string());
}

int run(const run_arguments& given) {
    if (given.config.empty() == given.resume.empty())
        refuse("run: give a CONFIG, or --resume DIR (not both); for example rldp run config/demo.json");
    if (!given.resume.empty() && (!given.set.empty() || !given.out.empty() || !given.lessons.empty()))
        refuse("run: --resume goes on with the run's own configuration; leave --set, --out and --lessons away");

    // Before anything starts: a key that can't sign is no surprise for the end of a long run.
    const auto key = given.sign.empty()
                         ? nullptr
                         : std::make_shared<const privacy::signing_key>(privacy::signing_key::load(given.sign));
    const auto named = [](const std::string& path) {
        const auto clean = std::filesystem::path(path).lexically_normal();
        return clean.has_filename() ? clean : clean.parent_path();  // "runs/first/" is runs/first
    };
    auto directory = named(given.resume);
    std::function<actors::opened_run()> open = [&] { return actors::resume_run(directory); };
    config::monitor_section watched;
    if (given.resume.empty()) {
        const auto config = config::load(given.config, given.set);
        const auto stem = std::filesystem::path(given.config).stem();
        directory = given.out.empty() ? std::filesystem::path("runs") / stem : named(given.out);
        watched = config.monitor;
        const auto lessons = given.lessons.empty() ? std::nullopt : std::optional<std::filesystem::path>(given.lessons);
        open = [config, directory, lessons] { return actors::create_run(config, directory, lessons); };
    } else if (const auto own = eval::run_directory{directory}.config(); std::filesystem::exists(own)) {
        watched = config::load(own, {}).monitor;
    }
    if (!given.monitor.empty()) watched.address = given.monitor;
    if (watched.address) monitor::loopback_endpoint(*watched.address);
    const auto dashboard = dashboard_of(watched, given.dashboard);

    const bool show = !given.quiet;
    const auto name = std::filesystem::absolute(directory).lexically_normal().filename().string();
    const auto summary =
        actors::launch(open, {.name = name,
                              .monitor = watched.address,
                              .dashboard = dashboard,
                              .program_version = RLDP_VERSION,
                              .on_dashboard = [](const auto& where) { say(stderr, "dashboard: {}\n", where); },
                              .display = show ? progress_bar() : actors::show{},
                              .on_plan =
                                  [show, counts = given.private_counts](const actors::run_plan& plan) {
                                      if (show) print_plan(plan, counts);
                                  },
                              .sign = key});
    if (given.json)
        say("{}\n", eval::to_json(summary));
    else
        print_summary(summary, directory);
    if (summary.how == eval::ending::interrupted) {
        say(stderr, "rldp: interrupted; go on with: rldp run --resume {}\n", directory.string());
        return static_cast<int>(errc::interrupted);
    }
    return summary.how == eval::ending::budget_exhausted ? static_cast<int>(errc::budget_exhausted) : 0;
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
    command->add_option("--resume", given->resume, "go on with the interrupted run in this directory");
    command->add_option("--sign", given->sign, "sign the certificate with this secret key (rldp key new)");
    command->add_option("--monitor", given->monitor, "serve live values at HOST:PORT (loopback)");
    command->add_option("--dashboard", given->dashboard, "show the run to browsers at [HOST:]PORT");
    command->add_flag("--json", given->json, "print the result as JSON");
    command->add_flag("--quiet", given->quiet, "no progress");
    command->add_flag("--private-counts", given->private_counts,
                      "also exact numbers of units and records: private, not to be passed on");
    command->footer(
        "Example: rldp run config/demo.json --set train.steps=60 --out runs/first --monitor 127.0.0.1:4242\n"
        "Exit status: 0 done, 1 failed, 2 bad input, 3 budget exhausted early, 130 interrupted (resumable)");
    command->callback([given, &chosen] { chosen = [given] { return run(*given); }; });
}

}  // namespace rldp::app

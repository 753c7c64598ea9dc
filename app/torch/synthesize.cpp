// rldp synthesize: a table from a run's public side.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/commands.hpp"
#include "app/grids/grid_command.hpp"
#include "app/http_options.hpp"
#include "app/words.hpp"
#include "base/error.hpp"
#include "base/output.hpp"
#include "base/system.hpp"
#include "eval/tables/report/report.hpp"
#include "monitor/http/server.hpp"
#include "monitor/terminal/live_line.hpp"
#include "run/artifacts/run_directory.hpp"
#include "run/judge/judge.hpp"
#include "run/model_files.hpp"
#include "run/signals.hpp"
#include "run/synthesis/synthesis.hpp"

namespace rldp::app {

namespace {

struct synthesize_arguments {
    actors::synthesis_request asked;
    std::string run, out, model;
    std::vector<std::string> where;
    std::int64_t seed = 0, threads = 0;
    monitor::http_options dashboard;
    bool json = false, report = false, no_report = false;
};

actors::given_cells read_given(const std::vector<std::string>& where) {
    actors::given_cells out;
    for (const auto& one : where) {
        const auto at = one.find('=');
        if (at == std::string::npos || at == 0) refuse(fmt::format("--where {}: write COLUMN=VALUE", one));
        if (!out.emplace(one.substr(0, at), one.substr(at + 1)).second)
            refuse(fmt::format("--where {}: the column is given twice", one));
    }
    return out;
}

std::string describe_progress(const actors::synthesis_progress& made) {
    const auto left = made.seconds_left;
    return fmt::format("rows {} of {}{}", made.rows, made.of,
                       left > 0 ? ", some " + time_text(left) + " left" : std::string());
}

/// What a call says before it takes long or much room; empty for others.
std::string describe_forecast(const actors::synthesis_forecast& of, const std::filesystem::path& out) {
    constexpr double long_time = 600, much = 1 << 30;  // seconds, bytes
    if (of.seconds < long_time && of.bytes < much) return {};
    std::error_code unknown;
    const auto free = std::filesystem::space(std::filesystem::absolute(out).parent_path(), unknown).available;
    return fmt::format(
        "{} more rows take some {} here, and some {} twice, in {} and until that is whole beside it{}", of.rows,
        time_text(of.seconds), memory_text(static_cast<std::int64_t>(of.bytes)), out.filename().string(),
        unknown ? std::string() : fmt::format("; {} are free there", memory_text(static_cast<std::int64_t>(free))));
}

/// Whether who sits at the terminal says yes; not where `stopped` comes first.
bool ask(const std::string& question, const std::function<bool()>& stopped) {
    say(stderr, "{}? [y/N] ", question);
    pollfd input{STDIN_FILENO, POLLIN, 0};
    constexpr int look_again = 200;  // ms
    while (!stopped()) {
        if (::poll(&input, 1, look_again) <= 0) continue;
        std::array<char, 64> line;
        const auto got = ::read(STDIN_FILENO, line.data(), line.size());
        return got > 0 && (line[0] == 'y' || line[0] == 'Y');
    }
    return false;
}

/// Why there is no report unless one is asked for; empty where there shall be one.
std::string refuse_report(const synthesize_arguments& given) {
    if (!given.where.empty()) return "--where makes a part of the table, which is not like the whole";
    if (given.asked.like) return "--like keeps cells that were not made up";
    return actors::find_obstacle(given.run);
}

struct made_report {
    std::string page, why_not;  ///< one of the two, or none where none is wanted
    std::string summary;        ///< private
};

/// A report that nobody asked for is not worth a table.
made_report make_report(const synthesize_arguments& given, const actors::synthesis_request& asked) {
    if (given.no_report) return {};
    if (auto why_not = refuse_report(given); !why_not.empty()) return {{}, std::move(why_not), {}};
    try {
        const auto found = actors::judge_table({.run = asked.run, .table = asked.out, .threads = asked.threads});
        return {actors::write_table_report(asked.run, found).string(), {}, eval::table_summary(found)};
    } catch (const error& fault) {
        if (given.report) throw;
        return {{}, fault.what(), {}};
    }
}

void print_report(const made_report& of) {
    if (!of.why_not.empty()) say("no report: {}\n", of.why_not);
    if (of.page.empty()) return;
    say("\nPRIVATE, for the data's owner: what the table is worth, and what it gives away\n");
    say_text(of.summary);
    say("{}\n", of.page);
}

void print_result(const synthesize_arguments& given, const actors::synthesis_result& made, const made_report& report) {
    const auto fresh = made.rows - made.begun_with;
    const auto per_second = made.seconds > 0 ? static_cast<double>(fresh) / made.seconds : 0;
    const auto again = made.finished ? made.counts.drawn - made.counts.rows : 0;
    if (given.json) {
        say("{}\n", nlohmann::ordered_json{{"rows", made.rows},
                                           {"finished", made.finished},
                                           {"drawn_again", again},
                                           {"cut", made.counts.cut},
                                           {"chosen_tokens", made.counts.chosen},
                                           {"given_tokens", made.counts.given},
                                           {"tokens_per_row", made.row_tokens},
                                           {"seconds", made.seconds},
                                           {"report", report.page.empty() ? nlohmann::ordered_json(nullptr)
                                                                          : nlohmann::ordered_json(report.page)}}
                        .dump());
        return;
    }
    if (made.finished) {
        const auto cut = made.counts.cut > 0
                             ? fmt::format("; cut where no more tokens are allowed: {}", made.counts.cut)
                             : std::string();
        say("wrote {}: {} rows of some {} tokens, {:.0f} a second; drawn again: {}{}. {}\n", given.out, made.rows,
            made.row_tokens, per_second, again, cut,
            given.asked.like ? "It is as private as " + given.asked.like->string() + ", whose cells it holds"
                             : std::string("It costs no ε: it was made from public/ alone"));
        print_report(report);
    } else {
        say("stopped with {} rows; they wait in {}. The same call with --resume goes on\n", made.rows,
            made.waiting.string());
    }
}

/// The rows that came last, to browsers.
class shown_rows {
  public:
    explicit shown_rows(monitor::http_server& server) : server_(server) {}
    void operator()(const actors::kept_rows& now) {
        constexpr std::size_t most = 16;
        last_.insert(last_.end(), now.rows.begin(), now.rows.end());
        if (last_.size() > most) last_.erase(last_.begin(), last_.end() - most);
        server_.tell(monitor::table_progress{{now.columns, last_}, now.there, now.of});
    }

  private:
    monitor::http_server& server_;
    std::vector<std::vector<std::string>> last_;
};

/// Until a signal stops it, behind which signals end the process again.
actors::synthesis_result make_rows(const actors::synthesis_request& asked, const monitor::http_options& dashboard) {
    std::atomic<bool> stopped = false;
    actors::signal_watch signals;
    signals.on_signal([&] { stopped = true; });
    const bool live = isatty(STDERR_FILENO) != 0;
    monitor::live_line line;
    const auto is_stopped = [&] { return stopped.load(); };
    const auto go_on = [&](const actors::synthesis_forecast& of) {
        const auto said = describe_forecast(of, asked.out);
        if (said.empty()) return true;
        line.erase();
        // Who resumes has said yes before.
        if (live && isatty(STDIN_FILENO) != 0 && !asked.resume) return ask(said + "; go on", is_stopped);
        say(stderr, "{}\n", said);
        return true;
    };
    const auto server = show_dashboard(dashboard, eval::run_at(asked.run).root);
    std::optional<shown_rows> shown;
    if (server) shown.emplace(*server);
    return actors::synthesize(
        asked, {.loading = monitor::loading_line(),
                .progress =
                    [&](const auto& made) {
                        if (live) line.show([text = describe_progress(made)](std::size_t) { return text; });
                    },
                .kept =
                    [&](const auto& rows) {
                        if (shown) (*shown)(rows);
                    },
                .stop = is_stopped,
                .go_on = go_on,
                .read_chat_template = [](const auto& model) { return actors::read_chat_template(model); }});
}

int synthesize(const synthesize_arguments& given) {
    if (given.seed < 0) refuse(fmt::format("--seed {}: must be 0 or a positive whole number", given.seed));
    auto asked = given.asked;
    asked.run = given.run;
    asked.out = given.out;
    if (!given.model.empty()) asked.model = given.model;
    asked.given = read_given(given.where);
    asked.how.seed = static_cast<std::uint64_t>(given.seed);
    const auto processors = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
    asked.threads = static_cast<int>(given.threads > 0 ? given.threads : processors);
    if (given.report && given.no_report) refuse("--report and --no-report: give one of them");
    if (auto why_not = refuse_report(given); given.report && !why_not.empty()) refuse("--report: " + why_not);

    if (!given.dashboard.address.empty() && asked.like)
        refuse("--dashboard: shows rows to whoever may look, and --like has cells of your own; give one of them");

    const auto made = make_rows(asked, given.dashboard);
    print_result(given, made, made.finished ? make_report(given, asked) : made_report());
    return made.finished ? 0 : static_cast<int>(errc::interrupted);
}

}  // namespace

void add_synthesize(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "synthesize");
    auto given = std::make_shared<synthesize_arguments>();
    auto& asked = given->asked;
    command->add_option("run", given->run, "a run's directory; its public/ is enough")->required();
    auto* rows = command->add_option_group("rows")->require_option(1);
    rows->add_option("--rows", asked.rows, "how many");
    rows->add_option("--like", asked.like, "a table, CSV, each of whose rows is filled where a cell is empty");
    command
        ->add_option("--out", given->out,
                     "what to write: .csv, .tsv or .jsonl, of texts .jsonl or .txt, packed where .gz or .zst follows")
        ->required();
    command->add_option("--model", given->model, "directory of the base that the run fine-tuned");
    command->add_option("--where", given->where, "COLUMN=VALUE that every row shall have; repeatable")
        ->allow_extra_args(false);
    command->add_option("--questions", asked.questions, "of a run on conversations: how many, each with its answer")
        ->capture_default_str();
    command->add_option("--seed", given->seed, "of the draws: the same rows for the same seed")->capture_default_str();
    command->add_option("--temperature", asked.how.temperature, "below 1 likelier values, 0 the likeliest row alone")
        ->capture_default_str();
    command->add_option("--batch", asked.batch, "rows of a thread that are computed together; memory grows with it")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    command->add_option("--threads", given->threads, "how many (default: as many as there are processors)")
        ->check(CLI::Range(1, 1024));
    command->add_option("--dashboard", given->dashboard.address,
                        "show rows to browsers at [HOST:]PORT as they are made");
    add_access_options(*command, given->dashboard);
    command->add_flag("--resume", asked.resume, "go on with what a stopped call left in OUT.partial");
    command->add_flag("--report", given->report,
                      "compare with the run's records and write trusted/synthetic.html, or refuse (default: where the "
                      "trusted side is here)");
    command->add_flag("--no-report", given->no_report, "read nothing but public/ and the base");
    command->add_flag("--json", given->json, "print what was made as JSON");
    command->footer(
        "Example: rldp synthesize runs/first --model config/tiny-gpt2 --rows 200 --out synthetic.csv --where "
        "sex=female");
    command->callback([given, &chosen] { chosen = [given] { return synthesize(*given); }; });
}

}  // namespace rldp::app

// rldp synthesize: a table from a run's public side.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/commands.hpp"
#include "app/words.hpp"
#include "base/error.hpp"
#include "base/output.hpp"
#include "monitor/terminal/live_line.hpp"
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
    bool json = false;
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
    const auto time = left < 120    ? fmt::format("{:.0f} s", left)
                      : left < 7200 ? fmt::format("{:.0f} min", left / 60)
                                    : fmt::format("{:.0f} h", left / 3600);
    return fmt::format("rows {} of {}{}", made.rows, made.of, left > 0 ? ", some " + time + " left" : "");
}

void print_result(const synthesize_arguments& given, const actors::synthesis_result& made) {
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
                                           {"seconds", made.seconds}}
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
                             : std::string("It costs no ε: public/ alone was read"));
    } else
        say("stopped with {} rows; they wait in {}. The same call with --resume goes on\n", made.rows,
            made.waiting.string());
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

    std::atomic<bool> stopped = false;
    actors::signal_watch signals;
    signals.on_signal([&] { stopped = true; });
    std::optional<monitor::live_line> line(std::in_place);
    const actors::synthesis_hooks hooks{
        .loading = monitor::loading_line(),
        .progress =
            [&](const auto& made) { line->show([text = describe_progress(made)](std::size_t) { return text; }); },
        .stop = [&] { return stopped.load(); },
        .read_chat_template = [](const auto& model) { return actors::read_chat_template(model); }};
    const auto made = actors::synthesize(asked, hooks);
    line.reset();
    print_result(given, made);
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
    command->add_flag("--resume", asked.resume, "go on with what a stopped call left in OUT.partial");
    command->add_flag("--json", given->json, "print what was made as JSON");
    command->footer(
        "Example: rldp synthesize runs/first --model config/tiny-gpt2 --rows 200 --out synthetic.csv --where "
        "sex=female");
    command->callback([given, &chosen] { chosen = [given] { return synthesize(*given); }; });
}

}  // namespace rldp::app

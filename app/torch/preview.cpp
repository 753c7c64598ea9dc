// rldp preview: records as training will see them.
#include "run/first/preview.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "base/error.hpp"
#include "base/output.hpp"
#include "config/spec.hpp"
#include "run/artifacts/run_directory.hpp"

namespace rldp::app {

namespace {

struct preview_arguments {
    std::string config;
    std::vector<std::string> set;
    std::size_t count = 3;
    bool json = false;
};

/// Signs around what is said of a stretch of text.
struct signs {
    std::string value_begins, value_ends, cut_begins, cut_ends;
};

/// Underlined and dim on a terminal that shows colours (no-color.org).
signs signs_here() {
    const char* no_colour = std::getenv("NO_COLOR");
    if (::isatty(STDOUT_FILENO) != 0 && (no_colour == nullptr || *no_colour == '\0'))
        return {"\x1b[4m", "\x1b[24m", "\x1b[2m", "\x1b[22m"};
    return {"⟦", "⟧", "⟨cut: ", "⟩"};
}

/// The record's own control characters must not reach the terminal.
std::string with_signs(const actors::previewed_record& record, const signs& how) {
    std::string out;
    auto value = record.values.begin();
    for (std::size_t at = 0; at <= record.text.size(); ++at) {
        if (value != record.values.end() && at == value->end) {
            out += how.value_ends;
            ++value;
        }
        if (record.cut && at == record.kept.end && at < record.text.size()) out += how.cut_begins;
        if (record.cut && at == 0 && record.kept.begin > 0) out += how.cut_begins;
        if (record.cut && at == record.kept.begin && at > 0) out += how.cut_ends;
        if (value != record.values.end() && at == value->begin) out += how.value_begins;
        if (at == record.text.size()) break;
        const char c = record.text[at];
        out += c == '\n' || c == '\t' ? std::string(1, c) : printable(std::string(1, c));
    }
    if (record.cut && record.kept.end < record.text.size()) out += how.cut_ends;
    return out;
}

void print(const actors::preview& seen) {
    const auto how = signs_here();
    say("PRIVATE, for the data's owner: records as training will see them\n");
    for (std::size_t i = 0; i < seen.records.size(); ++i) {
        const auto& record = seen.records[i];
        const auto text = with_signs(record, how);
        say("\nrecord {}: {} tokens{}{}\n{}\n", i + 1, record.tokens,
            record.values.empty()
                ? std::string()
                : fmt::format(", {} of them {}", record.value_tokens, seen.chat ? "are answers" : "carry values"),
            record.cut ? fmt::format("; cut to {}", seen.max_tokens) : std::string(), terminal_control{text.c_str()});
    }
    say("\nof {} record{} at the file's beginning: {} tokens in the middle, 95 of 100 have up to {}, the longest {}; "
        "{} of "
        "them are cut to data.max_tokens, {}\n",
        seen.looked_at, seen.looked_at == 1 ? "" : "s", seen.median_tokens, seen.p95_tokens, seen.most_tokens, seen.cut,
        seen.max_tokens);
    for (const auto& warning : seen.warnings) say("warning: {}\n", warning);
}

void print_preview_json(const actors::preview& seen) {
    nlohmann::ordered_json out{{"private", true},
                               {"max_tokens", seen.max_tokens},
                               {"looked_at", seen.looked_at},
                               {"cut", seen.cut},
                               {"median_tokens", seen.median_tokens},
                               {"p95_tokens", seen.p95_tokens},
                               {"most_tokens", seen.most_tokens},
                               {"warnings", seen.warnings},
                               {"records", nlohmann::ordered_json::array()}};
    for (const auto& record : seen.records) {
        auto values = nlohmann::ordered_json::array();
        for (const auto& part : record.values) values.push_back({part.begin, part.end});
        out["records"].push_back({{"text", record.text},
                                  {"tokens", record.tokens},
                                  {"value_tokens", record.value_tokens},
                                  {"cut", record.cut},
                                  {"kept", {record.kept.begin, record.kept.end}},
                                  {"values", std::move(values)}});
    }
    say("{}\n", out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

void add_preview(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "preview");
    auto given = std::make_shared<preview_arguments>();
    command->add_option("config", given->config, "configuration file (JSON)")->required();
    command->add_option("-n,--records", given->count, "so many records (default 3)")->check(CLI::Range(0, 10000));
    command->add_option("--set", given->set, "override a key: dotted.key=json, repeatable")->allow_extra_args(false);
    command->add_flag("--json", given->json, "print as JSON; kept and values are ranges of bytes");
    command->footer("Example: rldp preview mine.json -n 1");
    command->callback([given, &chosen] {
        chosen = [given] {
            const auto seen = actors::make_preview(
                config::to_reading_spec(eval::load_configuration(given->config, given->set)), given->count);
            given->json ? print_preview_json(seen) : print(seen);
            return 0;
        };
    });
}

}  // namespace rldp::app

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/files.hpp"
#include "base/output.hpp"
#include "base/system.hpp"
#include "eval/experiments/progress.hpp"
#include "eval/experiments/progress_file.hpp"

namespace rldp::eval {
namespace {

using clock = std::chrono::steady_clock;

// Columns are counted as characters: every byte but UTF-8's continuations begins one.
std::string cut(const std::string& line, std::size_t width) {
    std::size_t columns = 0;
    for (std::size_t i = 0; i < line.size(); ++i)
        if ((static_cast<unsigned char>(line[i]) & 0xc0) != 0x80 && ++columns > width) return line.substr(0, i);
    return line;
}

struct screen {
    explicit screen(std::size_t cells) : tally(cells) {}

    void clear() const {
        if (terminal) say(stderr, "\r\x1b[K");
    }

    grid_tally tally;
    clock::time_point start = clock::now();
    bool terminal = isatty(STDERR_FILENO) != 0;
};

}  // namespace

void grid_tally::ended(cell_state how, bool kept) {
    ++over_;
    if (how == cell_state::failed) ++failed_;
    if (!kept) ++ran_;
}

std::optional<double> grid_tally::left(double elapsed, const std::vector<cell_progress>& running,
                                       std::size_t waiting) const {
    double made = static_cast<double>(ran_), open = static_cast<double>(waiting);
    for (const auto& one : running) made += one.fraction, open += 1 - one.fraction;
    if (made < 0.05) return std::nullopt;  // the first seconds go into reading the model and the records
    return elapsed * open / made;
}

std::string progress_line(const grid_tally& tally, const std::vector<cell_progress>& running,
                          std::optional<double> left, std::size_t width) {
    auto line = fmt::format("{}/{} cells", tally.over(), tally.of());
    if (tally.failed() > 0) line += fmt::format(", {} failed", tally.failed());
    if (left) line += fmt::format(" · about {} left", time_text(*left));
    for (const auto& one : running) line += fmt::format(" · {} {:.0f} %", one.id, 100 * one.fraction);
    return cut(line, width);
}

std::string ended_line(const grid_tally& tally, const cell_files& files, cell_state how, bool kept,
                       const cell_result& result) {
    auto line = fmt::format("[{}/{}] {}: {}{}", tally.over(), tally.of(), files.id, name_of(how),
                            kept && how == cell_state::done ? " before" : "");
    if (result.summary) {
        if (result.summary->how != ending::done) line += ", " + name_of(result.summary->how);
        if (result.summary->perplexity_after)
            line += fmt::format(", perplexity {:.4g}", *result.summary->perplexity_after);
    }
    if (how == cell_state::failed) line += ", see " + files.log().string();
    return line;
}

watcher progress_on_terminal(std::size_t cells, const std::filesystem::path& out, bool quiet) {
    if (quiet) return {[](const cell&, cell_state, bool) {}, [](const auto&, std::size_t) {}};
    const auto shown = std::make_shared<screen>(cells);
    return {.on_end =
                [shown, out](const cell& which, cell_state how, bool kept) {
                    shown->tally.ended(how, kept);
                    // What was there before is news to nobody, unless it needs looking after.
                    if (kept && how == cell_state::done) return;
                    shown->clear();
                    const cell_files files{out, which.id};
                    say(stderr, "{}\n", ended_line(shown->tally, files, how, kept, read_result(files)));
                },
            .on_tick =
                [shown](const std::vector<cell_progress>& running, std::size_t waiting) {
                    if (!shown->terminal) return;
                    const double elapsed = std::chrono::duration<double>(clock::now() - shown->start).count();
                    const auto left = shown->tally.left(elapsed, running, waiting);
                    shown->clear();
                    say(stderr, "{}", progress_line(shown->tally, running, left, terminal_width() - 1));
                    std::fflush(stderr);
                }};
}

progress_file::progress_file(const std::filesystem::path& out, const std::vector<cell>& cells)
    : path_(out / "progress.json") {
    for (const auto& one : cells) cells_.emplace_back(one.id, "waiting");
    write();
}

void progress_file::ends(const std::string& id, cell_state how) {
    set(id, how == cell_state::done || how == cell_state::failed ? name_of(how) : "interrupted");
}

void progress_file::set(const std::string& id, const std::string& state) {
    const auto found = std::find_if(cells_.begin(), cells_.end(), [&](const auto& one) { return one.first == id; });
    if (found == cells_.end() || found->second == state) return;
    found->second = state;
    write();
}

void progress_file::write() const {
    auto cells = nlohmann::ordered_json::array();
    for (const auto& [id, state] : cells_) cells.push_back({{"id", id}, {"state", state}});
    write_file(path_, nlohmann::ordered_json{{"cells", cells}}.dump(1) + "\n");
}

}  // namespace rldp::eval

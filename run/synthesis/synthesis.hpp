#pragma once
// A table, texts or conversations from a run's public side: nothing under trusted/ is read, so anyone who has public/
// and the base can make it, and it costs no ε (docs/privacy.md: what is computed from a release is as private as the
// release).
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/loading.hpp"
#include "data/chat/chat_template.hpp"
#include "run/synthesis/row_plan.hpp"
#include "run/synthesis/row_sampler.hpp"

namespace rldp::actors {

inline constexpr std::int64_t most_rows = 100'000'000'000;

struct synthesis_request {
    std::filesystem::path run, out;
    std::optional<std::string> model;  ///< directory of the base
    std::int64_t rows = 0;             ///< without `like`
    given_cells given;
    std::optional<std::filesystem::path> like;  ///< a table with rows of which the empty cells are drawn
    row_sampling how;
    std::int64_t batch = 64;  ///< rows of a thread that are computed together
    int threads = 1;
    bool resume = false;         ///< what an earlier call left beside `out`
    std::int64_t questions = 1;  ///< of a conversation
};

struct synthesis_progress {
    std::int64_t rows = 0, of = 0;  ///< that are there, of those asked for
    double seconds_left = 0;        ///< by the speed so far; 0: not known yet
};

/// What the rows that are missing will take, by the first of them.
struct synthesis_forecast {
    std::int64_t rows = 0;  ///< still to be made
    double seconds = 0;
    double bytes = 0;  ///< as they wait for the others; the table, not packed, has about as many
};

/// Rows that follow in order on those before, as they are kept.
struct kept_rows {
    const std::vector<std::string>& columns;  ///< of texts "text", of conversations who speaks
    const std::vector<std::vector<std::string>>& rows;
    std::int64_t there = 0, of = 0;  ///< these included
};

struct synthesis_hooks {
    on_loading loading = {};
    std::function<void(const synthesis_progress&)> progress = [](const auto&) {};  ///< from any thread
    std::function<void(const kept_rows&)> kept = [](const auto&) {};  ///< from any thread, one after the other
    std::function<bool()> stop = [] { return false; };                ///< asked between tokens, from any thread
    /// Asked once, where many rows are missing, when the first are there; where it says no they wait for another call.
    std::function<bool(const synthesis_forecast&)> go_on = [](const auto&) { return true; };
    /// The chat template of the model in a directory.
    std::function<std::optional<data::chat_template>(const std::filesystem::path&)> read_chat_template = {};
};

struct synthesis_result {
    std::int64_t rows = 0;        ///< that are there
    std::int64_t begun_with = 0;  ///< of them, those that an earlier call had made
    row_counts counts;            ///< of this call
    std::int64_t row_tokens = 0;  ///< on average, opening words included, of this call's draws
    double seconds = 0;           ///< of sampling
    bool finished = false;        ///< else the rows wait in `waiting` for another call
    std::filesystem::path waiting;
};

/// Makes the rows and writes them, whole or not at all; until then they lie in OUT.partial, in order. Of a run whose
/// records were no rows of a template they are texts or conversations, of data.max_tokens at most. The same
/// rows for the same run, seed, temperature and given cells, whatever the batch, the number of threads and how often it
/// was stopped. Errors: bad_input for a run whose template has no schema, an output that exists, what row_planner
/// refuses, or a partial of another call; a full disk, which leaves the rows waiting.
synthesis_result synthesize(const synthesis_request& asked, const synthesis_hooks& hooks);

}  // namespace rldp::actors

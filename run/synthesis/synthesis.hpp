#pragma once
// A table from a run's public side: nothing under trusted/ is read, so anyone who has public/ and the base can make it,
// and it costs no ε (docs/privacy.md: what is computed from a release is as private as the release).
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/loading.hpp"
#include "run/synthesis/row_plan.hpp"
#include "run/synthesis/row_sampler.hpp"

namespace rldp::actors {

inline constexpr std::int64_t most_rows = 100'000'000;

struct synthesis_request {
    std::filesystem::path run, out;
    std::optional<std::string> model;  ///< directory of the base
    std::int64_t rows = 0;
    given_cells given;
    row_sampling how;
    std::int64_t batch = 64;  ///< rows that are computed together
    int threads = 1;
    bool resume = false;  ///< what an earlier call left beside `out`
};

struct synthesis_progress {
    std::int64_t rows = 0;                          ///< that are there, of those asked for
    std::int64_t drawn = 0, chosen = 0, given = 0;  ///< of this call
};

struct synthesis_hooks {
    on_loading loading = {};
    std::function<void(const synthesis_progress&)> progress = [](const auto&) {};
    std::function<bool()> stop = [] { return false; };  ///< asked between batches
};

struct synthesis_result {
    synthesis_progress made;
    std::int64_t begun_with = 0;  ///< rows that an earlier call had made
    std::int64_t row_tokens = 0;  ///< on average, opening words included, of this call's draws
    double seconds = 0;           ///< of sampling
    bool finished = false;        ///< else the rows wait in `waiting` for another call
    std::filesystem::path waiting;
};

/// Makes the rows and writes the table, whole or not at all; until then they lie in OUT.partial, a batch more each
/// time. The same rows for the same run, seed, temperature, given cells and batch on any number of threads, and after a
/// stop. Errors: bad_input for a run without a template or schema, an output that exists, what plan_rows refuses, or a
/// partial of another call.
synthesis_result synthesize(const synthesis_request& asked, const synthesis_hooks& hooks);

}  // namespace rldp::actors

#pragma once
// A run's directory: where its files are, how far the run has come, and its configuration on disk.
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "config/config.hpp"

namespace rldp::eval {

// Files. Where a run keeps its files: public/ may be shown to anyone, trusted/ (mode 0700) to nobody.

struct run_directory {
    std::filesystem::path root;

    std::filesystem::path public_side() const { return root / "public"; }
    std::filesystem::path config() const { return public_side() / "config.json"; }
    /// The template, where it declares a schema: what rows are made by.
    std::filesystem::path row_template() const { return public_side() / "template.json"; }
    std::filesystem::path ledger() const { return public_side() / "ledger.jsonl"; }
    std::filesystem::path metrics() const { return public_side() / "metrics.jsonl"; }
    std::filesystem::path metrics_csv() const { return public_side() / "metrics.csv"; }
    std::filesystem::path tensorboard() const { return public_side() / "tensorboard"; }  ///< where it is asked for
    std::filesystem::path summary() const { return public_side() / "summary.json"; }
    std::filesystem::path report() const { return public_side() / "report.html"; }
    std::filesystem::path certificate() const { return public_side() / "certificate.json"; }
    std::filesystem::path certificate_page() const { return public_side() / "certificate.html"; }
    std::filesystem::path adapter() const { return public_side() / "adapter"; }
    std::filesystem::path model() const { return public_side() / "model"; }  ///< in its place, of train.parameters

    std::filesystem::path trusted_side() const { return root / "trusted"; }
    std::filesystem::path key() const { return trusted_side() / "run.key"; }
    /// Where the files are that public/config.json names.
    std::filesystem::path places() const { return trusted_side() / "places"; }
    /// Between the erasure of the secrets and the run's end.
    std::filesystem::path waiting_certificate() const { return trusted_side() / "certificate.json"; }
    std::filesystem::path releases() const { return trusted_side() / "releases.log"; }
    std::filesystem::path checkpoint() const { return trusted_side() / "checkpoint.safetensors"; }
    /// What public records taught the model before the first step; only where there are any.
    std::filesystem::path lessons() const { return trusted_side() / "lessons.safetensors"; }
    /// What the weights' files were, and held, when the run began.
    std::filesystem::path weights_seen() const { return trusted_side() / "weights_seen.safetensors"; }
    std::filesystem::path looks() const {
        return trusted_side() / "looks.safetensors";
    }  ///< at held-out units, released
    std::filesystem::path held_out() const { return trusted_side() / "held_out.json"; }      ///< exact figures of them
    std::filesystem::path look_trace() const { return trusted_side() / "look_trace.json"; }  ///< for an audit of them
    std::filesystem::path corpus() const { return trusted_side() / "corpus"; }  ///< the records as tokens, sealed
    std::filesystem::path membership() const { return trusted_side() / "membership.json"; }
    std::filesystem::path book() const {
        return trusted_side() / "book.json";
    }  ///< the last start, for the budget book
    /// The last start, for the account of a tuning that it is a run of.
    std::filesystem::path account_mark() const { return trusted_side() / "account.json"; }
    std::filesystem::path trace() const { return trusted_side() / "trace.safetensors"; }
    std::filesystem::path audit() const { return trusted_side() / "audit"; }
    std::filesystem::path audit_json() const { return audit() / "audit.json"; }
    std::filesystem::path audit_text() const { return audit() / "audit.txt"; }
    std::filesystem::path audit_page() const { return audit() / "audit.html"; }
    /// What the last made-up table that was judged came to.
    std::filesystem::path table_page() const { return trusted_side() / "synthetic.html"; }
    std::filesystem::path table_json() const { return trusted_side() / "synthetic.json"; }
    std::filesystem::path shadows() const { return trusted_side() / "shadows"; }
    std::filesystem::path log() const { return trusted_side() / "trusted.log"; }
};

/// The run in `path`, or whose public side that is, as someone outside has it. Errors: bad_input for a public side
/// under another name.
inline run_directory run_at(const std::filesystem::path& path) {
    auto clean = std::filesystem::absolute(path).lexically_normal();
    if (!clean.has_filename()) clean = clean.parent_path();
    std::error_code unknown;
    if (!std::filesystem::exists(clean / "ledger.jsonl", unknown)) return {path};
    refuse_unless(
        clean.filename() == "public",
        path.string() + ": is a run's public side under another name; call it public, or give its ledger.jsonl");
    return {clean.parent_path()};
}

// State. How far a run has come, as its files say (docs/reliability.md, promise 5).

enum class run_state {
    none,        ///< no run: nothing was spent
    unfinished,  ///< it has its key: rldp run --resume goes on with it
    ending,      ///< cut while it ended: its key is erased, and its certificate waits in trusted/
    over,        ///< all is written, and no secret is left
    lost,        ///< neither key nor end: nothing can be added to it
};

/// Errors: bad_input for a summary that is damaged.
run_state read_state(const run_directory& run);

// Configuration. A run's on disk: what anyone may see, and where the owner's files are.

/// public/config.json, with file names in place of paths, and trusted/places, which has those: a path tells whose
/// machine it was, and what else is on it. Errors: as write_file.
void write_configuration(const run_directory& run, const config::run_config& config);

/// Both put together, then `overrides`, as config::load's. Of a public side alone, and of a run of a version that wrote
/// no places, public/config.json as it stands. Errors: as config::load.
config::run_config read_configuration(const run_directory& run, const std::vector<std::string>& overrides = {});

/// The overrides that read_configuration() puts before those given.
std::vector<std::string> read_places(const run_directory& run);

/// config::load, and of a run's own public/config.json with the paths that its trusted side knows: a run is repeated by
/// that file.
config::run_config load_configuration(const std::filesystem::path& file, const std::vector<std::string>& overrides);

}  // namespace rldp::eval

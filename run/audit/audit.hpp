#pragma once
// Attacks on a run: reads both sides, answers a report for the data owner. No CAF; the auditor actor is a shell around
// it.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/spec.hpp"
#include "eval/audit/attacks.hpp"
#include "eval/audit/report/report.hpp"
#include "privacy/spending/ledger.hpp"
#include "run/artifacts/membership.hpp"
#include "run/artifacts/run_directory.hpp"
#include "run/artifacts/summary.hpp"
#include "run/inputs.hpp"

namespace rldp::actors {

// Audited run. What attacks read of a run: the records on their sides, who was in, and the model as it is now.

struct audited_run {
    eval::run_directory where;
    config::reading_spec spec;
    config::clip_spec clip;
    std::string method;
    std::int64_t micro_batch = 1;
    eval::membership_record who;
    audit_pool pool;
    std::unique_ptr<const models::tokenizer> words;
    run_model model;
    models::loaded_adapter adapter;  ///< as it is now, on the device
    at::Tensor trace;                ///< float64 [D]; undefined where the run kept none
    std::int64_t step = 0;
    privacy::ledger_header header;

    eval::attacked_model tuned() const { return {*model.base, &adapter.layout, &adapter.flat, micro_batch}; }
    eval::attacked_model base() const { return {*model.base, nullptr, nullptr, micro_batch}; }
    /// As training cuts a record, split behind its first `beginning` bytes.
    std::optional<eval::split_text> split(const std::string& record, std::size_t beginning) const;
};

/// All but adapter and trace. `overrides`, as config::load's, are of how to attack: audit.ending, prompt, targets.
/// Errors: bad_input for no run, one that is not over (or is, with `during_run`), and for data other than the run's.
audited_run open_audited(const std::filesystem::path& directory, bool during_run,
                         const std::vector<std::string>& overrides = {});

/// Adapter, trace and step of the last checkpoint or, where the run is over, of its end.
void read_adapter(audited_run& run);

/// What a finished run left under public/, in the model's layout: its adapter, or the tensors that it trained whole.
/// Errors: bad_input naming the file.
models::loaded_adapter released_adapter(const eval::run_directory& where, const run_model& model);

// Attacks. One each, on an opened run. What can't be done is left out: a line in `left_out` says why and how to get it.

using lines = std::vector<std::string>;

/// With audit.prompt and with the record alone; nothing for a run without canaries.
std::vector<eval::extraction_result> extract(const audited_run& run, lines& left_out);
/// Absent where extract() finds nothing to look for.
std::optional<eval::exposure_result> expose(const audited_run& run);
std::optional<eval::membership_result> guess_members(const audited_run& run, lines& left_out);
/// LiRA with the shadow runs in `directories`, the number of each being its audit.shadow.
std::optional<eval::shadow_result> compare_with_shadows(const audited_run& run,
                                                        const std::vector<std::filesystem::path>& directories,
                                                        lines& left_out);
/// A bound for each kind of canary that the run has; together they hold with audit.confidence.
std::vector<eval::bound_result> bound_epsilon(const audited_run& run, lines& left_out);

// Audit. All attacks, and their report in the run's directory.

/// Every attack that the run allows, on the adapter that was read. `shadows`: finished runs with audit.shadow 0, 1, …
eval::audit_report audit(const audited_run& run, const std::vector<std::filesystem::path>& shadows);

/// trusted/audit/: audit.json, audit.txt and audit.html, each whole or not at all. Answers the page's path.
std::filesystem::path write_audit(const eval::run_directory& where, const eval::audit_report& report);

}  // namespace rldp::actors

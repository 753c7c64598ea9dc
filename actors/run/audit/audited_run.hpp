#pragma once
// What attacks read of a run: the records on their sides, who was in, and the model as it is now.
#include <filesystem>
#include <memory>

#include "actors/run/inputs.hpp"
#include "config/spec.hpp"
#include "eval/audit/likelihood.hpp"
#include "eval/audit/report/membership_record.hpp"
#include "eval/report/report.hpp"
#include "eval/report/run_directory.hpp"
#include "privacy/spending/ledger.hpp"

namespace rldp::actors {

struct audited_run {
    eval::run_directory where;
    config::reading_spec spec;
    config::clip_spec clip;
    std::string method;
    std::int64_t micro_batch = 1;
    eval::membership_record who;
    split_records records;
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

}  // namespace rldp::actors

#pragma once
// The end of a run (docs/privacy.md §6, docs/reliability.md): the key is erased first, for without it the rest of the
// secrets tells nothing more; the certificate is put in place last. A kill in between leaves the rest to whoever opens
// the directory next.
#include <filesystem>
#include <vector>

#include "privacy/keys/signing_key.hpp"
#include "run/artifacts/run_directory.hpp"

namespace rldp::actors {

bool is_over(const eval::run_directory& where);

/// Takes an earlier stop's certificate away: until the new end, the run has none.
void reopen(const eval::run_directory& where);

/// Certifies a run whose other public files are written; erases key, release log, checkpoint, records as tokens and
/// unfinished writes, durably; and says so with the certificate. Errors: bad_input, before anything is erased, where
/// the run's books don't verify; storage_error naming what can't be erased.
void end_run(const eval::run_directory& where, const privacy::signing_key* signed_by);

/// Of a run that is over, or was cut while it ended: does what a kill left undone; what was erased. Nothing of another.
/// Errors: bad_input where the run's process lives.
std::vector<std::filesystem::path> finish_end(const eval::run_directory& where);

/// Of a run that is ending: waits for its process, or does it in its place.
void await_end(const eval::run_directory& where);

/// What was done in and below a directory, and for killed starts beside it.
struct cleaning {
    std::vector<std::filesystem::path> erased;
    std::vector<std::filesystem::path> ended;       ///< runs that were cut while they ended, and are over now
    std::vector<std::filesystem::path> unfinished;  ///< runs that keep their secrets: they can be resumed
};
cleaning clean(const std::filesystem::path& root);

}  // namespace rldp::actors

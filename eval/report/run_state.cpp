#include "eval/report/run_state.hpp"

#include "config/base/files.hpp"
#include "eval/report/report.hpp"

namespace rldp::eval {

namespace fs = std::filesystem;

namespace {

/// The certificate is put into public/ last, after everything else is written and every secret erased. An interrupted
/// run has one, too, which goes when it goes on.
bool has_ended(const run_directory& run) {
    return fs::exists(run.certificate()) && fs::exists(run.summary()) &&
           parse_summary(read_text(run.summary())).how != ending::interrupted;
}

}  // namespace

run_state read_state(const run_directory& run) {
    if (!fs::exists(run.ledger())) return run_state::none;
    if (fs::exists(run.key())) return run_state::unfinished;
    // In the order in which another process goes on: a certificate that waits no more has been published.
    if (fs::exists(run.waiting_certificate())) return run_state::ending;
    return has_ended(run) ? run_state::over : run_state::lost;
}

}  // namespace rldp::eval

#pragma once
// A test build's hands on a run, from outside the process (docs/privacy.md §11). Without RLDP_TEST_HOOKS nothing of it
// is in the program. The environment says what is wanted:
//   RLDP_DUMP_RELEASES    a file that keeps every release
//   RLDP_REPLAY_RELEASES  such a file of another run: its releases take the place of this run's own, seq by seq
//   RLDP_REPLAY_LEDGER    that run's ledger, whose name for the training data is taken, too
//   RLDP_VIEWS        a file that keeps every state that a watcher could be shown
//   RLDP_DUMP_LOOKS, RLDP_REPLAY_LOOKS    the same of looks at held-out units: a file with a line for each
//   RLDP_HALT             "lose 3", "kill 3" or "interrupt 3": the process dies before release 3 is logged, dies after,
//                         or is told to stop when release 3 has been logged
#include <string>

#include "privacy/mechanism/look.hpp"
#include "privacy/release.hpp"

namespace rldp::actors::test_hooks {

#ifdef RLDP_TEST_HOOKS

/// The name of the training data in public files. Errors: bad_input where the ledger to replay can't be read.
std::string data_hmac(std::string own);
/// The release that crosses, before it is logged. Errors: failed where the other run has none of that seq.
void exchange(privacy::release& own);
/// The release of that seq has been logged.
void logged(std::uint64_t seq);
/// The same of a look, and "kill-look 1" of RLDP_HALT: the process dies when look 1 has been logged, "lose-look 1"
/// before.
void exchange(privacy::look_release& own);
void looked(std::int64_t look);
/// A state that may be shown: its word and all of its numbers.
void seen(const std::string& state, const std::string& all);

#else

inline std::string data_hmac(std::string own) {
    return own;
}
inline void exchange(privacy::release&) {}
inline void logged(std::uint64_t) {}
inline void exchange(privacy::look_release&) {}
inline void looked(std::int64_t) {}

#endif

}  // namespace rldp::actors::test_hooks

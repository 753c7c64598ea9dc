#pragma once
// What a run's report may claim and must not (docs/privacy.md §§2-9), in plain sentences.
#include <string>
#include <vector>

#include "run/artifacts/summary.hpp"

namespace rldp::eval {

struct guarantees {
    std::string headline;                      ///< HTML; one sentence
    bool any = false;                          ///< false: nothing is guaranteed
    std::vector<std::string> holds, does_not;  ///< HTML sentences; `holds` is empty where nothing is guaranteed
};

guarantees describe_guarantees(const run_summary& summary);

}  // namespace rldp::eval

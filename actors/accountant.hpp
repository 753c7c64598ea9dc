#pragma once
// The accountant owns policy and ledger: no step without its grant, no grant without its line in the ledger.
#include <memory>
#include <optional>

#include "actors/actors.hpp"
#include "privacy/spending/budget.hpp"

namespace rldp::actors {

struct accountant_state {
    static constexpr const char* name = "accountant";
    std::shared_ptr<privacy::budget> budget;
    std::size_t refreshed = 0;  ///< charges that `progress` covers
    double progress = 0;

    double progress_epsilon();             ///< of all charges so far
    void catch_up(std::int64_t interval);  ///< progress as of the last block's end, for a run that is resumed
};

/// `interval`: progress ε is recomputed, while the step runs, at the end of every block of so many steps.
accountant_actor::behavior_type make_accountant(accountant_actor::stateful_pointer<accountant_state> self,
                                                std::shared_ptr<privacy::budget> budget, std::int64_t interval);

}  // namespace rldp::actors

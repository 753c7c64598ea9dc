#pragma once
// The accountant owns policy and ledger: no step without its grant, no grant without its line in the ledger.
#include <memory>
#include <optional>

#include "actors/actors.hpp"
#include "privacy/spending/budget.hpp"
#include "run/train/training.hpp"

namespace rldp::actors {

struct accountant_state {
    static constexpr const char* name = "accountant";
    std::shared_ptr<privacy::budget> budget;
    std::size_t priced = 0;  ///< charges that `progress` covers
    eval::progress_price progress;

    double epsilon_spent();                   ///< of all charges so far
    void catch_up(const price_times& times);  ///< progress as of the last such step, for a run that is resumed
};

/// Progress ε is priced, while the step runs, at the steps that `times` says.
accountant_actor::behavior_type make_accountant(accountant_actor::stateful_pointer<accountant_state> self,
                                                std::shared_ptr<privacy::budget> budget, const price_times& times);

}  // namespace rldp::actors

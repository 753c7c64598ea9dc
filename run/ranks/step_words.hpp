#pragma once
// What rank 0 tells the others at each step, and at the end.
#include <ATen/core/Tensor.h>

#include <optional>

#include "privacy/mechanism/step_order.hpp"
#include "privacy/spending/ledger.hpp"
#include "run/ranks/team.hpp"

namespace rldp::ranks {

void tell_step(team& to, const privacy::step_order& order, const at::Tensor& adapter);
/// That there are no more steps: nobody is to be missed from now on.
void tell_end(team& to);

struct heard_step {
    privacy::step_order order;
    at::Tensor adapter;  ///< float32 [D] on the CPU
};
/// The next step, charged in `ledger` too; nothing at the end. Errors: as team::broadcast; bad_input for a charge that
/// is not the next.
std::optional<heard_step> hear_step(team& from, privacy::ledger_copy& ledger);

}  // namespace rldp::ranks

#pragma once
// What crosses between the actors of one process. Tensors travel by handle: a tensor that was sent is frozen.
#include <caf/all.hpp>

#include "messages/values.hpp"
#include "monitor/view/run_view.hpp"
#include "privacy/trusted.hpp"

namespace rldp::messages {

using monitor::run_view;

using draw_atom = caf::atom_constant<caf::atom("draw")>;
using prefetch_atom = caf::atom_constant<caf::atom("prepare")>;
using compute_atom = caf::atom_constant<caf::atom("compute")>;
using begin_atom = caf::atom_constant<caf::atom("begin")>;
using clip_atom = caf::atom_constant<caf::atom("clip")>;
using announce_atom = caf::atom_constant<caf::atom("announce")>;
using evaluated_atom = caf::atom_constant<caf::atom("evaluated")>;
using state_atom = caf::atom_constant<caf::atom("state")>;
using settle_atom = caf::atom_constant<caf::atom("settle")>;
using finish_atom = caf::atom_constant<caf::atom("finish")>;
using forget_atom = caf::atom_constant<caf::atom("forget")>;
using grant_atom = caf::atom_constant<caf::atom("grant")>;
using progress_atom = caf::atom_constant<caf::atom("progress")>;
using refresh_atom = caf::atom_constant<caf::atom("refresh")>;
using train_atom = caf::atom_constant<caf::atom("train")>;
using stop_atom = caf::atom_constant<caf::atom("stop")>;
using decide_atom = caf::atom_constant<caf::atom("decide")>;
using learn_atom = caf::atom_constant<caf::atom("learn")>;
using save_atom = caf::atom_constant<caf::atom("save")>;
using look_atom = caf::atom_constant<caf::atom("look")>;
using evaluate_atom = caf::atom_constant<caf::atom("evaluate")>;
using audit_atom = caf::atom_constant<caf::atom("audit")>;
using sync_atom = caf::atom_constant<caf::atom("sync")>;
using metrics_atom = caf::atom_constant<caf::atom("metrics")>;
using run_atom = caf::atom_constant<caf::atom("run")>;
using subscribe_atom = caf::atom_constant<caf::atom("subscribe")>;
using ack_atom = caf::atom_constant<caf::atom("ack")>;
using tick_atom = caf::atom_constant<caf::atom("tick")>;

}  // namespace rldp::messages

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(rldp::privacy::trusted<rldp::messages::draw>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(rldp::privacy::trusted<rldp::privacy::unit_gradients>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(rldp::privacy::step_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(rldp::privacy::release)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(rldp::privacy::look_charge)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(rldp::rl::block_observation)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(rldp::rl::block_action)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(rldp::eval::metrics_line)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(rldp::messages::step_task)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(rldp::messages::charged)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(rldp::actors::snapshot)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(rldp::messages::run_header)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(rldp::monitor::run_view)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(rldp::actors::evaluations)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(rldp::eval::scores)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(rldp::actors::outcome)

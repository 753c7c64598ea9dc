#pragma once
// What crosses between processes: plain values with inspect(). Doubles travel as their 64 bits, because CAF 0.17.6 hangs its
// network thread on inf, turns NaN into -1 and corrupts subnormals.
#include <caf/all.hpp>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace rldp::messages {

using subscribe_atom = caf::atom_constant<caf::atom("subscribe")>;
using ack_atom = caf::atom_constant<caf::atom("ack")>;
using tick_atom = caf::atom_constant<caf::atom("tick")>;
using retry_atom = caf::atom_constant<caf::atom("retry")>;

struct wire_double {
    double value = 0;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, wire_double& x) {
    std::uint64_t bits;
    std::memcpy(&bits, &x.value, sizeof bits);
    auto restore = [&]() -> caf::error {
        std::memcpy(&x.value, &bits, sizeof bits);
        return caf::none;
    };
    return f(bits, caf::meta::load_callback(restore));
}

/// What anyone who watches a run sees: averages of released values since the last tick, at most one tick a second.
struct telemetry {
    std::string run, state;           ///< name of the run; running | done | budget exhausted | interrupted | failed
    std::int64_t step = 0, steps = 0; ///< done and planned
    wire_double loss;                 ///< mean token loss as released, nats; NaN where none was
    wire_double noise_multiplier;
    wire_double progress_epsilon, guaranteed_epsilon, epsilon;  ///< progress is no guarantee
    std::int64_t evaluated_step = 0;
    wire_double perplexity;           ///< of the last evaluation; NaN before the first
    std::vector<wire_double> radii;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, telemetry& x) {
    return f(caf::meta::type_name("telemetry"), x.run, x.state, x.step, x.steps, x.loss, x.noise_multiplier,
             x.progress_epsilon, x.guaranteed_epsilon, x.epsilon, x.evaluated_step, x.perplexity, x.radii);
}

}  // namespace rldp::messages

#pragma once
// A tiny model and tiny training units for tests that drive actors.
#include <ATen/ATen.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <memory>
#include <sstream>
#include <string>

#include "run/session.hpp"
#include "run/train/steering.hpp"
#include "tests/models/random_models.hpp"
#include "tests/support/charges.hpp"
#include "tests/support/scratch_directory.hpp"

namespace rldp::testing {

/// A GPT-2 of one block with random weights, and adapters of rank 2 on its q and v.
inline actors::run_model tiny_model() {
    actors::run_model out;
    out.base = models::test::tiny_gpt2(3, 1);
    out.layout = models::make_layout(out.base->config(), {2, 16, 0.05, {"q", "v"}});
    out.initial_adapter = models::initial_adapter(out.layout, 1);
    return out;
}

/// RLDP's method for that model, expected batch 4.
inline std::unique_ptr<privacy::method> small_method(const actors::run_model& model) {
    std::vector<std::int64_t> sizes;
    for (const auto& pair : model.layout.pairs) sizes.push_back(pair.size);
    return std::make_unique<rl::steered>(rl::steered_config{.segments = privacy::make_segments(sizes),
                                                            .expected_batch = 4,
                                                            .initial_radius = 0.1,
                                                            .clip_min = 1e-3,
                                                            .clip_max = 1,
                                                            .initial_loss = 1,
                                                            .statistics_share = 0.02,
                                                            .warmup = 2});
}

/// `count` units of one record each: short runs of tokens that depend on the unit.
inline std::vector<data::token_unit> tiny_units(int count) {
    std::vector<data::token_unit> units;
    for (int i = 0; i < count; ++i) {
        std::vector<std::int32_t> tokens(6 + static_cast<std::size_t>(i % 5));
        for (int t = 0; auto& token : tokens) token = (i * 7 + t++ * 3) % 17;
        units.push_back({{tokens}});
    }
    return units;
}

inline std::shared_ptr<const actors::secrets> tiny_secrets(int units, std::int64_t seed = 5) {
    return std::make_shared<actors::secrets>(
        actors::secrets{tiny_units(units), privacy::run_key::insecure_from_seed(seed)});
}

/// A trusted log that a test can read.
struct captured_log {
    std::ostringstream text;
    std::shared_ptr<spdlog::logger> logger =
        std::make_shared<spdlog::logger>("trusted", std::make_shared<spdlog::sinks::ostream_sink_mt>(text));
};

}  // namespace rldp::testing

#include "actors/run/rounding_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "actors/run/company_probe.hpp"
#include "actors/run/plan.hpp"
#include "actors/run/session.hpp"
#include "actors/run/step_gradients.hpp"
#include "config/base/error.hpp"
#include "config/open_keys.hpp"

namespace rldp::actors {

namespace {

constexpr auto probed_units = static_cast<std::size_t>(config::probed_units);

}  // namespace

rounding_watch watch_with(const std::shared_ptr<company_probe>& probe, std::int64_t every, double margin,
                          std::size_t batch) {
    return [=](std::int64_t step, const at::Tensor& adapter) {
        if ((step - 1) % every != 0) return;
        // The errors of different units are independent of each other: their sum grows as the root of their number.
        const double scale = std::sqrt(std::max(1.0, static_cast<double>(batch) / static_cast<double>(probed_units)));
        const auto seen = probe->compare(adapter, probed_units);
        const double worst = scale * std::max(seen.gradient, seen.statistics);
        if (worst <= margin / 5) return;
        throw error(errc::failed,
                    fmt::format("rounding: before step {}, one more made-up unit moves the others' sum by {:.2g} of a "
                                "clip radius, and {:g} is charged; no step is made with it. Lower train.lr, or run on "
                                "device cpu, where units don't move each other",
                                step, worst, margin));
    };
}

rounding_watch make_rounding_watch(const session& run) {
    const auto every =
        config::steps_between_probes(run.spec.device, run.spec.privacy.semantics, run.spec.train.expected_batch_size);
    if (every == 0) return {};
    const auto settings = make_gradient_settings(run);
    const auto probe =
        std::make_shared<company_probe>(run.model.base, run.model.layout, settings.apart, settings.micro_batch,
                                        run.plan.max_tokens, static_cast<std::uint64_t>(run.spec.data.split_seed));
    return watch_with(probe, every, run.plan.rounding_margin,
                      static_cast<std::size_t>(run.spec.train.expected_batch_size));
}

}  // namespace rldp::actors

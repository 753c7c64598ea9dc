// Loader, gradient and sanitizer, one message at a time.
#include <ATen/ATen.h>

#include <algorithm>
#include <caf/all.hpp>
#include <set>

#include "actors/contributor.hpp"
#include "actors/failure.hpp"
#include "actors/gradient.hpp"
#include "actors/loader.hpp"
#include "actors/sanitizer.hpp"
#include "privacy/trusted_side.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/fixtures.hpp"
#include "tests/catch.hpp"
#include "tests/support/owned.hpp"
#include "tests/support/threads.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

namespace {

using closed_ptr = std::shared_ptr<const secrets>;

privacy::step_order order_for(const run_model& model, std::uint64_t seq, double noise_multiplier, double radius,
                              double share = 0.02) {
    const auto groups = model.layout.pairs.size();
    privacy::step_order order{charged_at(seq, noise_multiplier), {}};
    order.terms.radii.assign(groups, radius);
    if (share == 0) return order;
    privacy::statistics_frame frame;
    frame.trackers.assign(groups, {0.05, 0.1, 0.2});
    order.terms.measured = privacy::measure_statistics(frame);
    order.terms.measurement_multiplier = privacy::measurement_multiplier(noise_multiplier, share);
    return order;
}

privacy::sanitizer_config config_for(const run_model& model) {
    std::vector<std::int64_t> sizes;
    for (const auto& pair : model.layout.pairs) sizes.push_back(pair.size);
    return {.segments = privacy::make_segments(sizes)};
}

struct trusted_side : deterministic {
    trusted_side(int units, double rate) : trusted_side(tiny_secrets(units), rate) {}
    trusted_side(closed_ptr inside, double rate, std::optional<padding> padded = {})
        : closed(std::move(inside)), model(tiny_model()), sample_rate(rate) {
        const trusted<closed_ptr> wrapped(closed);
        loader = spawn(make_loader, wrapped, rate, log.logger);
        sanitizer = spawn(make_sanitizer, wrapped, config_for(model), std::shared_ptr<privacy::reducer>{},
                          std::optional<privacy::acknowledgement>{}, scratch / "releases.log", log.logger);
        gradient = spawn(make_gradient, wrapped, model, gradient_settings{.micro_batch = 4, .padded = padded}, loader,
                         sanitizer, log.logger);
    }

    captured_log log;
    scratch_directory scratch;
    closed_ptr closed;
    run_model model;
    double sample_rate;
    loader_actor loader;
    sanitizer_actor sanitizer;
    gradient_actor gradient;
};

/// What the sanitizer has logged; the tests charge at multiplier z.
std::vector<privacy::release> logged_by(const trusted_side& side, double z = 1) {
    privacy::ledger_content ledger{.header = scratch_header()};
    for (std::uint64_t seq = 1; seq <= 3; ++seq) ledger.charges.push_back(charged_at(seq, z));
    return privacy::release_log::read(side.scratch / "releases.log", privacy::file_seal(side.closed->key), ledger);
}

/// The clipped sum of a step by itself: same draw and dropout, clipped in plain float64 arithmetic, no noise.
at::Tensor clipped_sum(const trusted_side& side, std::uint64_t seq, double radius) {
    loader_state sampler;
    sampler.closed = trusted<closed_ptr>(side.closed);
    sampler.sample_rate = side.sample_rate;
    const auto drawn = sampler.make(seq);
    std::vector<models::unit_records> units;
    for (const auto& unit : privacy::opened(drawn).units) units.push_back(unit.records);
    auto sum = at::zeros({side.model.layout.dimension}, at::kDouble);
    const auto dropout = make_dropout(side.closed->key, seq, side.model.layout, at::kCPU);
    for (const auto& chunk : models::plan_chunks(units, 4)) {
        const auto made = models::unit_gradients(*side.model.base, side.model.layout, side.model.initial_adapter, units,
                                                 chunk, {.micro_batch = 4}, dropout);
        const auto gradients = made.gradients.to(at::kDouble);
        for (const auto& pair : side.model.layout.pairs) {
            const auto part = gradients.narrow(1, pair.offset, pair.size);
            const auto factor = (radius / (part.norm(2, 1) + 1e-6)).clamp_max(1.0).unsqueeze(1);
            sum.narrow(0, pair.offset, pair.size) += (part * factor).sum(0);
        }
    }
    return sum;
}

}  // namespace

TEST_CASE("the loader makes the next draw ahead of need, and the same one either way") {
    deterministic run;
    captured_log log;
    const auto actor = run.spawn(make_loader, trusted<closed_ptr>(tiny_secrets(200)), 0.2, log.logger);
    run.self->send(actor, draw_atom::value, std::uint64_t{1});
    REQUIRE(run.step(actor));
    CHECK_FALSE(run.state<loader_state>(actor).ready.has_value());
    REQUIRE(run.step(actor));  // its message to itself
    REQUIRE(run.state<loader_state>(actor).ready.has_value());
    CHECK(run.state<loader_state>(actor).ready_seq == 2);
    const auto ahead = privacy::opened(*run.state<loader_state>(actor).ready);
    CHECK(ahead.seq == 2);
    const auto second = run.state<loader_state>(actor).make(2), third = run.state<loader_state>(actor).make(3);
    const auto& again = privacy::opened(second);
    REQUIRE(again.units.size() == ahead.units.size());
    for (std::size_t i = 0; i < again.units.size(); ++i)
        CHECK(owned(again.units[i]).records == owned(ahead.units[i]).records);
    CHECK(privacy::opened(third).units.size() != 0);
}

TEST_CASE("where noise has bands a step draws from its seq's group alone, and no unit twice in a round") {
    constexpr std::int32_t units = 300;
    constexpr std::int64_t bands = 4;
    auto inside = *tiny_secrets(0);
    for (std::int32_t unit = 0; unit < units; ++unit) inside.train.push_back({{{unit, 1}}});
    inside.bands = bands;
    const privacy::unit_groups groups(inside.key, bands);
    for (std::uint64_t unit = 0; unit < units; ++unit) inside.groups.push_back(groups.find("unit", unit));
    loader_state sampler;
    sampler.closed = trusted<closed_ptr>(std::make_shared<const secrets>(inside));
    sampler.sample_rate = 0.5;
    const auto drawn_at = [&](std::uint64_t seq) {
        const auto drawn = sampler.make(seq);
        std::vector<std::vector<std::int32_t>> out;
        for (const auto& unit : privacy::opened(drawn).units) out.push_back(owned(unit).records.front());
        return out;
    };
    const auto in_group = [&](std::uint64_t group) {
        std::vector<std::vector<std::int32_t>> out;
        for (std::size_t unit = 0; unit < units; ++unit)
            if (inside.groups[unit] == group) out.push_back(owned(inside.train[unit]).records.front());
        return out;
    };
    for (const std::uint64_t seq : {1, 2, 3, 4, 7, 9}) {  // 5, 6 and 8 are lost
        const auto drawn = drawn_at(seq), may = in_group(seq % bands);
        CHECK(drawn.size() > may.size() / 4);
        CHECK(drawn.size() < may.size());
        for (const auto& one : drawn) CHECK(std::find(may.begin(), may.end(), one) != may.end());
    }
}

TEST_CASE("the sanitizer begins a step on one thread, however many it used for the last one") {
    trusted_side side(60, 0.2);
    side.run();
    const on_threads as_after_whole_parameters(3);
    side.self->send(side.sanitizer, begin_atom::value, order_for(side.model, 1, 0.5, 0.1));
    REQUIRE(side.step(side.sanitizer));
    CHECK(at::get_num_threads() == 1);
}

TEST_CASE("of a trusted actor's failure crosses that another rank is gone, or its name and where the detail is kept") {
    struct failing : privacy::reducer {
        void reduce(std::uint64_t, std::span<std::int64_t>) override {
            if (peer) throw ranks::peer_error("rank 1 of 2: another rank is gone");
            throw std::runtime_error("record 7 is Alice's");
        }
        bool peer = false;
    };
    trusted_side side(60, 0.2);
    const auto said = [&](bool peer, const std::shared_ptr<spdlog::logger>& log) {
        const auto over = std::make_shared<failing>();
        over->peer = peer;
        const auto actor = side.spawn(make_contributor, config_for(side.model).segments, over, log);
        side.self->monitor(actor);
        side.self->send(actor, begin_atom::value, order_for(side.model, 1, 0.5, 0.1));
        side.self->send(actor, finish_atom::value);
        side.run();
        std::string line;
        side.self->receive([&](const caf::down_msg& down) { line = to_exception(down.reason).what(); });
        return line;
    };
    CHECK(said(true, side.log.logger) == "rank 1 of 2: another rank is gone");
    CHECK(said(false, side.log.logger) ==
          "contributor failed; the detail is in trusted/trusted.log. The run can be resumed");
    CHECK(
        said(false, trusted_log_of_rank(side.scratch / "absent/trusted.log")) ==
        "contributor failed; the detail is kept nowhere: this rank sees no trusted/ of rank 0. The run can be resumed");
}

TEST_CASE("the gradient actor opens no draw before it is asked, and its answer is the sanitizer's release") {
    trusted_side side(60, 0.2);
    side.run();
    CHECK_FALSE(side.state<loader_state>(side.loader).ready.has_value());
    const auto answer = side.ask<privacy::release>(
        side.gradient, compute_atom::value, step_task{order_for(side.model, 1, 0.5, 0.1), side.model.initial_adapter});
    REQUIRE(answer);
    CHECK(answer->charged->seq == 1);
    CHECK(answer->gradient.numel() == side.model.layout.dimension);
    CHECK(answer->statistics.size() == 3 * side.model.layout.pairs.size() + 5);
    const auto logged = logged_by(side, 0.5);
    REQUIRE(logged.size() == 1);
    CHECK(at::equal(logged[0].gradient, answer->gradient));
}

TEST_CASE("a release is the clipped sum over the logical batch plus noise of the allocated scale") {
    // Hardly any noise: what is left is the clipped sum, over several micro-batches, in turn or side by side.
    trusted_side side(60, 0.3);
    side.run();
    side.state<gradient_state>(side.gradient).how.abreast = GENERATE(1, 3);
    const double radius = 0.05;
    const auto answer =
        side.ask<privacy::release>(side.gradient, compute_atom::value,
                                   step_task{order_for(side.model, 1, 1e-6, radius, 0), side.model.initial_adapter});
    REQUIRE(answer);
    const auto expected = clipped_sum(side, 1, radius);
    CHECK((answer->gradient.to(at::kDouble) - expected).abs().max().item<double>() < 1e-5);
    CHECK(expected.abs().max().item<double>() > 1e-2);
}

TEST_CASE("an empty draw is a step like any other: pure noise") {
    trusted_side side(60, 0.0);
    const double z = 2, radius = 0.1;
    const auto answer = side.ask<privacy::release>(
        side.gradient, compute_atom::value, step_task{order_for(side.model, 1, z, radius), side.model.initial_adapter});
    REQUIRE(answer);
    const auto n = static_cast<double>(side.model.layout.pairs.size());
    const double deviation = z / std::sqrt(1 - 0.02) * std::sqrt(n) * radius;
    const auto count = static_cast<double>(answer->gradient.numel());
    const double chi2 = (answer->gradient.to(at::kDouble) / deviation).square().sum().item<double>();
    CHECK(std::abs(chi2 - count) < 5 * std::sqrt(2 * count));
}

TEST_CASE("a failing trusted actor crosses as a code, and the detail stays in the trusted log") {
    trusted_side side(60, 0.3);
    auto wrong = side.model.initial_adapter.slice(0, 0, 3).clone();  // not D numbers: the model throws
    const auto answer = side.ask<privacy::release>(side.gradient, compute_atom::value,
                                                   step_task{order_for(side.model, 1, 1, 0.1), wrong});
    REQUIRE_FALSE(answer);
    CHECK(side.log.text.str().find("gradient failed: ") != std::string::npos);
    const auto what = side.system.render(answer.error());
    CHECK(what.find("size") == std::string::npos);
}

TEST_CASE("the sanitizer forgets logged releases once a checkpoint holds them") {
    trusted_side side(20, 0.3);
    for (std::uint64_t seq = 1; seq <= 3; ++seq)
        REQUIRE(side.ask<privacy::release>(side.gradient, compute_atom::value,
                                           step_task{order_for(side.model, seq, 1, 0.1), side.model.initial_adapter}));
    CHECK(logged_by(side).size() == 3);
    side.self->send(side.sanitizer, forget_atom::value);
    side.run();
    CHECK(logged_by(side).empty());
}

namespace {

/// Tiny units, and after them `more` with records that the model can't take: ids beyond its vocabulary of 17.
closed_ptr secrets_with_impossible(int units, int more) {
    auto all = tiny_units(units);
    for (int i = 0; i < more; ++i) all.push_back({{{1, 2, 17 + i, 3}}});
    return std::make_shared<secrets>(secrets{std::move(all), privacy::run_key::insecure_from_seed(5)});
}

}  // namespace

TEST_CASE("a unit whose gradient can't be computed counts as zero, and no one outside learns of it") {
    // Sample rate 1: everyone is in the draw, in the same micro-batches but for the impossible units.
    const double radius = 0.05;
    const auto release_with = [&](int impossible, std::string& log) {
        trusted_side side(secrets_with_impossible(24, impossible), 1.0);
        side.run();
        side.state<gradient_state>(side.gradient).model.layout.config.dropout = 0;
        const auto answer = side.ask<privacy::release>(
            side.gradient, compute_atom::value,
            step_task{order_for(side.model, 1, 1e-6, radius, 0), side.model.initial_adapter});
        REQUIRE(answer);
        log = side.log.text.str();
        return answer->gradient;
    };
    std::string quiet, told;
    const auto without = release_with(0, quiet), with = release_with(3, told);
    CHECK(quiet.empty());
    CHECK(told.find("a unit counts as zero") != std::string::npos);
    CHECK((with - without).abs().max().item<float>() < 1e-5);
    CHECK(without.abs().max().item<float>() > 1e-2);
}

TEST_CASE("canaries come together, but where units are computed apart each comes alone") {
    const auto sizes_of_chunks = [](bool apart) {
        auto units = tiny_units(5);
        for (std::int64_t number = 0; number < 3; ++number) {
            units.push_back({{{1, 2, 3}}});
            units.back().gradient_canary = number;
        }
        trusted_side side(std::make_shared<secrets>(secrets{units, privacy::run_key::insecure_from_seed(5)}), 1);
        side.run();
        auto inside = std::make_shared<secrets>(*side.closed);
        inside->gradient_canaries = {1, config_for(side.model).segments, 0.1};
        auto& state = side.state<gradient_state>(side.gradient);
        state.closed = trusted<closed_ptr>(inside);
        state.how.apart = apart;
        loader_state sampler;
        sampler.closed = trusted<closed_ptr>(inside);
        sampler.sample_rate = 1;
        std::vector<std::int64_t> sizes;
        state.compute({order_for(side.model, 1, 1, 0.1), side.model.initial_adapter}, sampler.make(1),
                      [&](const trusted<privacy::unit_gradients>& chunk) {
                          sizes.push_back(privacy::opened(chunk).gradients.size(0));
                      });
        return sizes;
    };
    CHECK(sizes_of_chunks(false) == std::vector<std::int64_t>{3, 4, 1});
    CHECK(sizes_of_chunks(true) == std::vector<std::int64_t>(8, 1));
}

// A rank's machine may have other last bits: a unit that moved to it because of another would be another unit.
TEST_CASE("ranks share the units out, and one more moves no other to another rank") {
    const auto shares = [](std::int64_t count) {
        std::vector<std::multiset<double>> out;
        for (std::size_t rank = 0; rank < 3; ++rank) {
            trusted_side side(tiny_secrets(static_cast<int>(count)), 1);
            side.run();
            auto& state = side.state<gradient_state>(side.gradient);
            state.how.apart = true;
            state.how.rank = rank;
            state.how.ranks = 3;
            loader_state sampler;
            sampler.closed = trusted<closed_ptr>(side.closed);
            sampler.sample_rate = 1;
            auto& losses = out.emplace_back();
            state.compute({order_for(side.model, 1, 1, 0.1), side.model.initial_adapter}, sampler.make(1),
                          [&](const trusted<privacy::unit_gradients>& chunk) {
                              losses.insert(privacy::opened(chunk).losses.item<double>());
                          });
        }
        return out;
    };
    const auto few = shares(17), more = shares(18);
    std::size_t all = 0, grown = 0;
    for (std::size_t rank = 0; rank < 3; ++rank) {
        CHECK(few[rank].size() > 1);
        CHECK(std::includes(more[rank].begin(), more[rank].end(), few[rank].begin(), few[rank].end()));
        all += few[rank].size();
        grown += more[rank].size() - few[rank].size();
    }
    CHECK(all == 17);
    CHECK(grown == 1);
}

TEST_CASE("where a step has probes, units' losses are taken there, too") {
    trusted_side side(tiny_secrets(12), 1.0, {});
    side.run();
    const auto& state = side.state<gradient_state>(side.gradient);
    step_task task{order_for(side.model, 1, 1, 0.1), side.model.initial_adapter};
    at::manual_seed(1);
    for (int i = 0; i < 2; ++i) task.order.probes.push_back(task.adapter + 0.1 * at::randn_like(task.adapter));
    loader_state sampler;
    sampler.closed = trusted<closed_ptr>(side.closed);
    sampler.sample_rate = 1;
    std::vector<at::Tensor> chunks;
    const auto drawn = sampler.make(1);
    state.compute(task, drawn, [&](const trusted<privacy::unit_gradients>& chunk) {
        chunks.push_back(privacy::opened(chunk).losses);
    });
    const auto losses = at::cat(chunks);
    CHECK(losses.sizes() == at::IntArrayRef({12, 3}));
    std::vector<models::unit_records> units;
    for (const auto& unit : privacy::opened(drawn).units) units.push_back(unit.records);
    std::vector<std::size_t> order;
    for (const auto& chunk : models::plan_chunks(units, 4)) order.insert(order.end(), chunk.begin(), chunk.end());
    for (std::int64_t i = 0; i < 2; ++i)
        CHECK(at::allclose(
            losses.select(1, 1 + i),
            models::unit_losses(*side.model.base, side.model.layout, task.order.probes[static_cast<std::size_t>(i)],
                                units, order, {.micro_batch = 64}),
            1e-5));
    CHECK_FALSE(at::allclose(losses.select(1, 1), losses.select(1, 2), 1e-3));
}

TEST_CASE("padded steps do the same work whatever was drawn, and release the same sum") {
    const double radius = 0.05;
    const padding room{.units = 40, .shape = {.records = 1, .tokens = 12}, .delta = 0};
    const auto one = [&](int units, std::optional<padding> padded, std::size_t& chunks) {
        trusted_side side(tiny_secrets(units), 1.0, padded);
        side.run();
        side.state<gradient_state>(side.gradient).model.layout.config.dropout = 0;
        const auto& state = side.state<gradient_state>(side.gradient);
        const step_task task{order_for(side.model, 1, 1e-6, radius, 0.02), side.model.initial_adapter};
        chunks = 0;
        std::int64_t rows = 0;
        loader_state sampler;
        sampler.closed = trusted<closed_ptr>(side.closed);
        sampler.sample_rate = 1;
        state.compute(task, sampler.make(1), [&](const trusted<privacy::unit_gradients>& chunk) {
            ++chunks;
            rows += privacy::opened(chunk).gradients.size(0);
        });
        if (padded) CHECK(rows == std::max<std::int64_t>(units, padded->units));
        const auto answer = side.ask<privacy::release>(side.gradient, compute_atom::value, task);
        REQUIRE(answer);
        return *answer;
    };
    std::size_t few = 0, many = 0, none = 0, unpadded = 0;
    const auto padded = one(30, room, many), plain = one(30, std::nullopt, unpadded);
    one(3, room, few);
    one(0, room, none);
    CHECK(few == many);
    CHECK(none == many);
    CHECK(unpadded < many);
    CHECK((padded.gradient - plain.gradient).abs().max().item<float>() < 1e-5);
    for (std::size_t i = 0; i < plain.statistics.size(); ++i)
        CHECK(padded.statistics[i] == Approx(plain.statistics[i]).margin(1e-4));
    // More than there is room for: such a step takes longer, and nobody is cut.
    std::size_t over = 0;
    const auto larger = one(60, room, over), as_large = one(60, std::nullopt, unpadded);
    CHECK(over > many);
    CHECK((larger.gradient - as_large.gradient).abs().max().item<float>() < 1e-5);
}

// Orders as ranks tell them to each other: every number as it was.
#include "privacy/methods/serialized_step.hpp"

#include <ATen/ATen.h>

#include <limits>

#include "privacy/mechanism/statistics.hpp"
#include "privacy/methods/geometries.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp::privacy;

namespace {

serialized_step back(const step_terms& terms, const std::vector<at::Tensor>& probes = {}) {
    return parse_step(serialize_step({terms, probes, at::linspace(-1, 1, 7)}));
}

}  // namespace

TEST_CASE("told and heard, an order's terms are the same to the last bit") {
    step_terms terms;
    terms.radii = {0.1, 1.0 / 3, 5e-324};
    terms.shares = {0.2, 0.3, 0.5};
    terms.rule = clip_rule::psac;
    terms.stabiliser = 1e-300;
    terms.probes = {0, -1.5};
    const auto heard = back(terms, {at::rand({7}), at::rand({7})});
    CHECK(heard.terms.radii == terms.radii);
    CHECK(heard.terms.shares == terms.shares);
    CHECK(heard.terms.rule == terms.rule);
    CHECK(heard.terms.stabiliser == terms.stabiliser);
    CHECK(heard.terms.probes == terms.probes);
    CHECK(heard.terms.measurement_multiplier == std::numeric_limits<double>::infinity());
    CHECK_FALSE(heard.terms.measured);
    CHECK_FALSE(heard.terms.shape);
    CHECK(at::equal(heard.adapter, at::linspace(-1, 1, 7)));
    CHECK(heard.probes.size() == 2);
}

TEST_CASE("each kind of measurement is heard as it was told") {
    statistics_frame frame;
    frame.trackers = {{0.1, 0.2, 0.3}, {1, 2, 3}};
    frame.loss_centre = 2.5;
    frame.loss_range = 0.7;
    frame.norm_range = 9;
    const auto losses = at::rand({4, 3}, at::kDouble);
    for (const auto& [measured, groups] :
         {std::pair{measure_statistics(frame), 2}, std::pair{measure_below(0.4), 1},
          std::pair{measure_histogram(0.25, 8), 1}, std::pair{measure_losses(3, 2), 1}}) {
        step_terms terms;
        terms.radii.assign(static_cast<std::size_t>(groups), 1);
        terms.measured = measured;
        terms.measurement_multiplier = 4;
        const auto heard = back(terms).terms.measured;
        REQUIRE(heard);
        CHECK(heard->sensitivity() == measured->sensitivity());
        const auto norms = at::rand({4, groups}, at::kDouble);
        const auto seen = groups == 2 ? losses.select(1, 0) : losses;
        std::vector<double> mine(measured->entries()), theirs(heard->entries());
        measured->add(norms, seen, mine);
        heard->add(norms, seen, theirs);
        CHECK(mine == theirs);
    }
}

TEST_CASE("each kind of geometry is heard as it was told") {
    const auto centre = at::randn({300}, at::kDouble), white = at::randn({300}, at::kDouble);
    for (const std::shared_ptr<const geometry>& shape : std::vector<std::shared_ptr<const geometry>>{
             std::make_shared<diagonal_geometry>(centre, at::rand({300}, at::kDouble) + 0.1),
             std::make_shared<spiked_geometry>(
                 centre,
                 std::vector<spiked_block>{{std::get<0>(at::linalg_qr(at::randn({280, 7}, at::kDouble))),
                                            at::linspace(2, 3, 7, at::kDouble), 0.5},
                                           {at::zeros({20, 0}, at::kDouble), at::zeros({0}, at::kDouble), 0.25}})}) {
        step_terms terms;
        terms.radii = {1};
        terms.shape = shape;
        const auto heard = back(terms).terms.shape;
        REQUIRE(heard);
        CHECK(at::equal(heard->centre(), shape->centre()));
        CHECK(at::equal(heard->colour(white), shape->colour(white)));
        const auto rows = at::randn({9, 300}, at::kDouble);
        CHECK(at::equal(heard->norms(rows), shape->norms(rows)));
    }
}

TEST_CASE("what no rank told is refused") {
    CHECK(has(refusal([] { parse_step(""); }), "what rank 0 told"));
    CHECK(has(refusal([] { parse_step("no cbor at all"); }), "what rank 0 told"));
    step_terms terms;
    terms.radii = {1};
    auto bytes = serialize_step({terms, {}, at::zeros({3})});
    CHECK(has(refusal([&] { parse_step(std::string_view(bytes).substr(0, bytes.size() - 2)); }), "what rank 0 told"));
}

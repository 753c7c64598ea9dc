// What becomes of a unit whose gradient can't be computed, and of a machine that can't compute.
#include "run/step_gradients.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <stdexcept>
#include <thread>

#include "tests/actors/fixtures.hpp"
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::actors;
using namespace rldp::testing;

namespace {

struct outcome {
    at::Tensor gradients;  // [units, D]
    int failures = 0;
};

/// Of three units in one chunk; `fail` is called before forward pass number `pass` of those made.
outcome computed(const std::function<void(std::size_t pass)>& fail) {
    const auto model = tiny_model();
    std::vector<std::vector<models::sequence>> units;
    for (const auto& unit : tiny_units(3)) units.push_back(unit.records);
    outcome out;
    std::vector<at::Tensor> rows;
    std::size_t passes = 0;
    step_gradients(
        model, {.micro_batch = 4}, model.initial_adapter, {}, models::view_units(units),
        [&](std::span<const models::token_span>) {
            fail(passes++);
            return models::dropout_source{};
        },
        [&](const privacy::unit_gradients& chunk) { rows.push_back(chunk.gradients); },
        [&](const std::exception&) { ++out.failures; });
    out.gradients = at::cat(rows);
    return out;
}

}  // namespace

TEST_CASE("a unit that fails counts as zero, and the others as they are") {
    const auto whole = computed([](std::size_t) {});
    REQUIRE(whole.failures == 0);
    const auto one_fails = computed([](std::size_t pass) {
        if (pass == 0 || pass == 2) throw std::runtime_error("this unit");  // the chunk, then its second unit alone
    });
    CHECK(one_fails.failures == 1);
    CHECK(one_fails.gradients[1].abs().max().item<float>() == 0);
    for (const std::int64_t row : {0, 2}) {
        CHECK(whole.gradients[row].norm().item<float>() > 0);
        CHECK((one_fails.gradients[row] - whole.gradients[row]).norm().item<float>() <
              1e-4F * whole.gradients[row].norm().item<float>());
    }
}

TEST_CASE("dropout leaves a unit's gradient its own whoever else was drawn") {
    auto model = tiny_model();
    model.layout.config.dropout = 0.5;
    std::vector<std::vector<models::sequence>> units;
    for (const auto& unit : tiny_units(9)) units.push_back(unit.records);
    units[4].push_back(units[5][0]);  // a group
    const auto key = privacy::run_key::insecure_from_seed(8);
    const auto compute_gradients = [&](const std::vector<std::vector<models::sequence>>& drawn, std::uint64_t seq,
                                       std::size_t unit) {
        const auto views = models::view_units(drawn);
        for (const auto& chunk : models::plan_chunks(views, 3))
            for (std::size_t row = 0; row < chunk.size(); ++row)
                if (chunk[row] == unit)
                    return models::unit_gradients(*model.base, model.layout, model.initial_adapter, views, chunk,
                                                  {.micro_batch = 3}, make_dropout(key, seq, model.layout, at::kCPU))
                        .gradients[static_cast<std::int64_t>(row)];
        return at::Tensor();
    };
    const auto apart = [](const at::Tensor& x, const at::Tensor& y) {
        return (x - y).norm().item<double>() / x.norm().item<double>();
    };
    for (std::size_t unit = 0; unit < units.size(); ++unit) {
        CAPTURE(unit);
        const auto beside = compute_gradients(units, 1, unit), alone = compute_gradients({units[unit]}, 1, 0);
        CHECK(apart(beside, alone) < 1e-4);
        CHECK(apart(beside, compute_gradients(units, 2, unit)) > 1e-2);  // another step, other masks
    }
}

TEST_CASE("no more chunks are computed ahead of those that are taken than threads, and one") {
    const auto model = tiny_model();
    std::vector<std::vector<models::sequence>> units;
    for (const auto& unit : tiny_units(12)) units.push_back(unit.records);
    const auto views = models::view_units(units);
    std::atomic<int> begun = 0;
    int taken = 0;
    step_gradients(
        model, {.micro_batch = 1, .abreast = 2}, model.initial_adapter, {}, views,
        [&](std::span<const models::token_span>) {
            ++begun;
            return models::dropout_source{};
        },
        [&](const privacy::unit_gradients&) {
            const int allowed = std::min(12, taken + 3);
            while (begun < allowed) std::this_thread::yield();
            // As long as the threads would take for several chunks more.
            for (int i = 0; i < 6; ++i)
                models::unit_gradients(*model.base, model.layout, model.initial_adapter, views, {0}, {});
            CHECK(begun == allowed);
            ++taken;
        },
        [](const std::exception& reason) { FAIL(reason.what()); });
    CHECK(taken == 12);
}

TEST_CASE("exhausted memory is the machine's failure, in a chunk and in a unit alone") {
    CHECK_THROWS_AS(computed([](std::size_t) { throw std::bad_alloc(); }), std::bad_alloc);
    CHECK_THROWS_AS(computed([](std::size_t pass) {
                        if (pass == 0) throw std::runtime_error("the chunk");
                        throw std::bad_alloc();
                    }),
                    std::bad_alloc);
    // LibTorch's own allocator has no type for it in every version.
    const auto exhausted = [](std::size_t) {
        throw std::runtime_error(
            "[enforce fail at alloc_cpu.cpp:66] . DefaultCPUAllocator: can't allocate memory: you tried to allocate "
            "5368709120 bytes. Error code 12 (Cannot allocate memory)");
    };
    CHECK_THROWS_WITH(computed(exhausted), Catch::Matchers::StartsWith("[enforce fail"));
    CHECK_THROWS_WITH(computed([&](std::size_t pass) {
                          if (pass == 0) throw std::runtime_error("the chunk");
                          exhausted(pass);
                      }),
                      Catch::Matchers::StartsWith("[enforce fail"));
}

TEST_CASE("once a stop is asked for, a step is given up between chunks") {
    const auto model = tiny_model();
    std::vector<std::vector<models::sequence>> units;
    for (const auto& unit : tiny_units(6)) units.push_back(unit.records);
    for (const int abreast : {1, 2}) {
        CAPTURE(abreast);
        std::int64_t rows = 0;
        const auto compute = [&](int stop_after) {
            std::stop_source stop;
            const gradient_settings how{.micro_batch = 2, .abreast = abreast, .stop = stop.get_token()};
            int chunks = 0;
            rows = 0;
            const auto take = [&](const privacy::unit_gradients& chunk) {
                rows += chunk.gradients.size(0);
                if (++chunks == stop_after) stop.request_stop();
            };
            if (stop_after == 0) stop.request_stop();
            step_gradients(model, how, model.initial_adapter, {}, models::view_units(units), {}, take,
                           [](const std::exception&) {});
        };
        for (const int after : {0, 1, 2}) {
            CHECK_THROWS_AS(compute(after), error);
            CHECK(rows == 2 * after);
        }
        compute(3);  // nothing is left to give up
        CHECK(rows == 6);
    }
}

TEST_CASE("whether a step is long is told by public numbers") {
    run_plan plan;
    plan.population = 200;
    plan.sample_rate = 0.5;
    plan.max_tokens = 256;
    CHECK_FALSE(is_long_step(plan, 600'000));  // 6 · 100 · 256 operations for each number
    CHECK(is_long_step(plan, 700'000));
    plan.max_records_per_unit = 16;
    CHECK(is_long_step(plan, 60'000));
}

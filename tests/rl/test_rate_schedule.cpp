#include "run/train/rate_schedule.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using rldp::rl::rate_schedule;

TEST_CASE("rates are those of transformers' schedules") {
    // get_linear_schedule_with_warmup, get_cosine_schedule_with_warmup and get_wsd_schedule (transformers 4.46) at peak
    // 1, warm-up 4 of 20 steps; of wsd, 5 steps of linear decay. Theirs is zero at the first step, ours a fourth.
    rate_schedule how{.peak = 1, .last = 0, .steps = 20, .warmup = 4, .decay = 5};
    for (how.shape = rate_shape::constant; const std::int64_t step : {1, 2, 3, 4})
        CHECK(how.rate(step) == Approx(static_cast<double>(step) / 4));
    CHECK(how.rate(20) == 1);
    how.shape = rate_shape::linear;
    CHECK(how.rate(5) == 1);
    CHECK(how.rate(13) == Approx(0.5));
    CHECK(how.rate(20) == Approx(0.0625));
    how.shape = rate_shape::cosine;
    CHECK(how.rate(5) == 1);
    CHECK(how.rate(13) == Approx(0.5));
    CHECK(how.rate(17) == Approx(0.146446609));
    how.shape = rate_shape::wsd;
    CHECK(how.rate(15) == 1);
    CHECK(how.rate(16) == 1);
    CHECK(how.rate(17) == Approx(0.8));
    CHECK(how.rate(20) == Approx(0.2));
}

TEST_CASE("a rate falls to its last, and never is beyond the two") {
    for (const auto shape : {rate_shape::constant, rate_shape::linear, rate_shape::cosine, rate_shape::wsd})
        for (const std::int64_t warmup : {0, 1, 7}) {
            const rate_schedule how{shape, 2, 0.5, 40, warmup, 10};
            double before = 2;
            for (std::int64_t step = warmup + 1; step <= 40; ++step) {
                CHECK(how.rate(step) <= before);
                CHECK(how.rate(step) >= 0.5);
                before = how.rate(step);
            }
            CHECK(how.rate(warmup + 1) == 2);
            if (shape != rate_shape::constant) CHECK(how.rate(40) == Approx(0.5).margin(0.16));
        }
}

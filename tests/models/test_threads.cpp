// Loops over tensors use the threads they may, and give the same bits on any number of them.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/variable.h>

#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "models/adamw.hpp"
#include "models/functions.hpp"
#include "models/kernels/narrow_attention.hpp"
#include "models/lora/dropout.hpp"
#include "tests/catch.hpp"
#include "tests/support/threads.hpp"

using namespace rldp::models;
using rldp::testing::on_threads;

namespace {

[[maybe_unused]] std::set<std::thread::id> threads_of_a_loop(std::int64_t count, std::int64_t least) {
    std::mutex one_at_a_time;
    std::set<std::thread::id> out;
    at::parallel_for(0, count, least, [&](std::int64_t, std::int64_t) {
        const std::lock_guard lock(one_at_a_time);
        out.insert(std::this_thread::get_id());
    });
    return out;
}

/// Values and gradients of all that has a loop of its own.
std::vector<at::Tensor> computed() {
    at::manual_seed(12);
    std::vector<at::Tensor> out;
    const auto keep = [&](const at::Tensor& in, const at::Tensor& value) {
        torch::autograd::backward({value}, {at::cos(value.detach())});
        out.push_back(value.detach());
        out.push_back(in.grad());
    };
    auto x = at::randn({1001, 256}).requires_grad_();
    keep(x, rms_norm(x, at::randn({256}), 1e-5));
    auto turned = at::randn({4, 100, 16, 32}).requires_grad_();
    keep(turned, rotate(turned, rotations(at::rand({16}), at::arange(100), at::TensorOptions())));
    auto q = at::randn({5, 40, 6, 8}).requires_grad_();
    const auto k = at::randn({5, 40, 3, 8}).requires_grad_(), v = at::randn({5, 40, 3, 8}).requires_grad_();
    keep(q, attend_narrow(q, k, v, std::nullopt, 0.3));
    out.push_back(k.grad());
    out.push_back(v.grad());
    adamw optimizer(at::randn({600'003}), {.weight_decay = 0.1, .rate_factors = at::rand({600'003})});
    for (const auto variance : {std::optional<double>(), std::optional(0.5)})
        optimizer.step(at::randn({600'003}), 0.01, variance);
    out.push_back(optimizer.parameters());
    out.push_back(optimizer.snapshot().second);
    out.push_back(dropout_masks({{1, 2}, {3, 4}, {5, 6}}, 0.3, at::kCPU)(1, {3, 50, 1001}));
    return out;
}

}  // namespace

TEST_CASE("a loop is shared out among the threads it may use, unless it is short") {
#if defined(__clang__) || defined(__SANITIZE_THREAD__)
    WARN("skipped: Clang's builds and those of the thread sanitizer have no OpenMP, and loops are on one thread");
#else
    const on_threads three(3);
    CHECK(threads_of_a_loop(3, 1).size() == 3);
    CHECK(threads_of_a_loop(3, 3).size() == 1);
#endif
}

TEST_CASE("norms, rotations, attention and masks are the same bits on any number of threads") {
    const auto alone = [] {
        const on_threads one(1);
        return computed();
    }();
    for (const int count : {2, 3, 5}) {
        const on_threads several(count);
        const auto shared = computed();
        REQUIRE(shared.size() == alone.size());
        for (std::size_t i = 0; i < alone.size(); ++i) CHECK(at::equal(shared[i], alone[i]));
    }
}

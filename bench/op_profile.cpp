#include "bench/op_profile.hpp"

#include <ATen/record_function.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>

namespace rldp::bench {

namespace {

using clock_type = std::chrono::steady_clock;

struct open_op : at::ObserverContext {
    clock_type::time_point begin = clock_type::now();
    double inside = 0;  // milliseconds in operators that this one called
};

thread_local std::vector<open_op*> open_ops;
std::mutex totals_mutex;
std::map<std::string, op_time> totals;

std::unique_ptr<at::ObserverContext> begin_op(const at::RecordFunction&) {
    auto op = std::make_unique<open_op>();
    open_ops.push_back(op.get());
    return op;
}

void end_op(const at::RecordFunction& function, at::ObserverContext* context) {
    auto* op = static_cast<open_op*>(context);
    const double span = std::chrono::duration<double, std::milli>(clock_type::now() - op->begin).count();
    open_ops.pop_back();
    if (!open_ops.empty()) open_ops.back()->inside += span;
    const std::lock_guard lock(totals_mutex);
    auto& total = totals.try_emplace(function.name(), op_time{function.name(), 0, 0}).first->second;
    total.milliseconds += span - op->inside;
    ++total.calls;
}

}  // namespace

std::vector<op_time> profile_ops(const std::function<void()>& work) {
    totals.clear();
    const auto handle = at::addGlobalCallback(at::RecordFunctionCallback(begin_op, end_op));
    work();
    at::removeCallback(handle);
    std::vector<op_time> list;
    for (const auto& [name, total] : totals) list.push_back(total);
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.milliseconds > b.milliseconds; });
    return list;
}

}  // namespace rldp::bench

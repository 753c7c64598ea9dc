#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <thread>
#include <utility>

#include "config/error.hpp"
#include "data/corpus.hpp"

namespace rldp::data {

namespace {

struct failure {
    std::size_t unit = 0;
    std::exception_ptr reason;
};

/// Work of one thread: takes units in order until none is left or some thread has failed.
class worker {
  public:
    worker(const std::vector<unit>& units, const encoder& encode, std::int64_t max_tokens, bool keep_tail)
        : units_(units), encode_(encode), max_(static_cast<std::size_t>(max_tokens)), keep_tail_(keep_tail) {}

    void run(std::atomic<std::size_t>& next, std::atomic<bool>& stop, std::vector<token_unit>& out) noexcept {
        while (!stop) {
            const auto index = next++;
            if (index >= units_.size()) return;
            try {
                for (const auto& record : units_[index].records)
                    if (auto ids = encoded(record); ids.size() >= 2) out[index].records.push_back(std::move(ids));
            } catch (...) {
                failed = {index, std::current_exception()};
                stop = true;
            }
        }
    }

    std::int64_t cut = 0;
    std::int64_t records = 0;
    failure failed;

  private:
    std::vector<std::int32_t> encoded(const std::string& record) {
        auto ids = encode_(record);
        ++records;
        if (ids.size() <= max_) return ids;
        ++cut;
        const auto excess = static_cast<std::ptrdiff_t>(ids.size() - max_);
        if (keep_tail_)
            ids.erase(ids.begin(), ids.begin() + excess);
        else
            ids.resize(max_);
        return ids;
    }

    const std::vector<unit>& units_;
    const encoder& encode_;
    std::size_t max_;
    bool keep_tail_;
};

}  // namespace

tokenised tokenise(const std::vector<unit>& units, const encoder& encode, std::int64_t max_tokens, bool keep_tail,
                   int threads) {
    if (max_tokens < 2) refuse(fmt::format("data.max_tokens is {}; at least 2 are needed", max_tokens));
    if (threads < 1) refuse(fmt::format("tokenise: {} threads; at least 1 is needed", threads));
    tokenised out;
    out.units.resize(units.size());
    std::atomic<std::size_t> next{0};
    std::atomic<bool> stop{false};
    std::vector<worker> workers(static_cast<std::size_t>(threads), worker(units, encode, max_tokens, keep_tail));
    {
        std::vector<std::jthread> running;
        for (auto& w : workers) running.emplace_back([&] { w.run(next, stop, out.units); });
    }
    // Units are taken in order, so the first failing one was tried whatever the threads' timing: report that one.
    failure first{units.size(), nullptr};
    for (const auto& w : workers) {
        if (w.failed.reason && w.failed.unit < first.unit) first = w.failed;
        out.records += w.records;
        out.cut += w.cut;
    }
    if (first.reason) std::rethrow_exception(first.reason);
    return out;
}

}  // namespace rldp::data

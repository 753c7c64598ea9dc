#include "run/synthesis/row_desk.hpp"

#include <utility>

namespace rldp::actors {

row_desk::row_desk(std::int64_t rows, const std::vector<std::string>& columns, waiting_rows& waiting,
                   const synthesis_hooks& hooks)
    : rows_(rows), columns_(columns), waiting_(waiting), hooks_(hooks), begun_with_(waiting.rows()) {
    next_ = written_ = static_cast<std::uint64_t>(begun_with_);
}

void row_desk::open_up_to(std::int64_t rows) {
    const std::scoped_lock lock(mutex_);
    open_ = rows;
    began_ = clock::now();
    timed_from_ = made_;
}

std::optional<std::uint64_t> row_desk::claim() {
    const std::scoped_lock lock(mutex_);
    return static_cast<std::int64_t>(next_) < open_ ? std::optional(next_++) : std::nullopt;
}

void row_desk::take(std::uint64_t number, std::vector<std::string> cells) {
    using namespace std::chrono_literals;
    constexpr std::size_t enough = 1000;
    const std::scoped_lock lock(mutex_);
    ready_.emplace(number, std::move(cells));
    ++made_;
    if (ready_.size() >= enough || clock::now() - flushed_ > 1s) write();
    const std::chrono::duration<double> spent = clock::now() - began_;
    const auto there = begun_with_ + made_;
    const auto left = static_cast<double>(rows_ - there) * spent.count() / static_cast<double>(made_ - timed_from_);
    hooks_.progress({.rows = there, .of = rows_, .seconds_left = spent > 2s ? left : 0});
}

void row_desk::flush() {
    const std::scoped_lock lock(mutex_);
    write();
}

void row_desk::write() {
    std::vector<std::vector<std::string>> rows;
    for (auto at = ready_.begin(); at != ready_.end() && at->first == written_; at = ready_.erase(at), ++written_)
        rows.push_back(std::move(at->second));
    flushed_ = clock::now();
    if (rows.empty()) return;
    waiting_.add(rows);
    hooks_.kept({.columns = columns_, .rows = rows, .there = waiting_.rows(), .of = rows_});
}

}  // namespace rldp::actors

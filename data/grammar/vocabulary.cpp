#include "data/grammar/vocabulary.hpp"

#include <algorithm>

namespace rldp::data {

vocabulary::vocabulary(std::vector<std::string> spelled) : spelled_(std::move(spelled)) {
    for (std::size_t id = 0; id < spelled_.size(); ++id) {
        if (spelled_[id].empty()) continue;
        order_.push_back(static_cast<std::int32_t>(id));
        longest_ = std::max(longest_, std::ssize(spelled_[id]));
    }
    std::sort(order_.begin(), order_.end(), [&](auto a, auto b) { return spell(a) < spell(b); });
}

// As in a trie, whose nodes are ranges of tokens that begin alike.
void vocabulary::collect(const language& in, const places& from, std::size_t begin, std::size_t end, std::size_t depth,
                         std::vector<std::int32_t>& out) const {
    for (; begin < end && spell(order_[begin]).size() == depth; ++begin) out.push_back(order_[begin]);
    while (begin < end) {
        const auto byte = static_cast<std::uint8_t>(spell(order_[begin])[depth]);
        const auto group = std::partition_point(
            order_.begin() + static_cast<std::ptrdiff_t>(begin), order_.begin() + static_cast<std::ptrdiff_t>(end),
            [&](auto id) { return static_cast<std::uint8_t>(spell(id)[depth]) <= byte; });
        const auto next = static_cast<std::size_t>(group - order_.begin());
        if (const auto to = in.next(from, byte); !to.empty()) collect(in, to, begin, next, depth + 1, out);
        begin = next;
    }
}

std::vector<std::int32_t> vocabulary::admissible(const language& in, const places& from) const {
    std::vector<std::int32_t> out;
    collect(in, from, 0, order_.size(), 0, out);
    std::sort(out.begin(), out.end());
    return out;
}

}  // namespace rldp::data

#include "privacy/counts/row_choice.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace rldp::privacy {

row_choice::row_choice(std::int64_t most, const run_key& key)
    : most_(static_cast<std::size_t>(most)), lots_(key, purpose::rows, 0, 0) {
    require(most >= 1 && most <= most_rows, "rows of a unit: a number out of range");
}

void row_choice::see(std::string_view unit) {
    auto& of_unit = chosen_[std::string(unit)];
    of_unit.push_back({lots_.next(), rows_++});
    std::push_heap(of_unit.begin(), of_unit.end());
    if (of_unit.size() <= most_) return;
    std::pop_heap(of_unit.begin(), of_unit.end());
    of_unit.pop_back();
}

std::vector<std::uint16_t> row_choice::finish() const {
    std::vector<std::uint16_t> out(rows_);
    for (const auto& [unit, rows] : chosen_)
        for (const auto& each : rows) out[each.row] = static_cast<std::uint16_t>(rows.size());
    return out;
}

}  // namespace rldp::privacy

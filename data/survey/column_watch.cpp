#include "data/survey/column_watch.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "data/sources/decimal.hpp"

namespace rldp::data {

void column_watch::see(std::string_view value) {
    const auto none = std::find(values_for_none.begin(), values_for_none.end(), value);
    if (none != values_for_none.end()) {
        ++missing_[static_cast<std::size_t>(none - values_for_none.begin())];
        return;
    }
    ++present_;
    const auto hash = std::hash<std::string_view>{}(value);
    if (seen_.size() < most_distinct) seen_.insert(hash);
    const bool comma = with_decimal_point(value).has_value();
    if (comma) ++decimal_commas_;
    if (comma || is_plain_number(value))
        ++numbers_;
    else if (words_.size() < 2)
        words_.insert(hash);
}

bool column_watch::says_nothing() const {
    const auto missing = std::accumulate(missing_.begin(), missing_.end(), std::size_t{0});
    return seen_.empty() || (seen_.size() == 1 && missing == 0 && present_ > 1);
}

std::size_t column_watch::words_among_numbers() const {
    return words_.size() == 1 && 2 * numbers_ > present_ ? present_ - numbers_ : 0;
}

}  // namespace rldp::data

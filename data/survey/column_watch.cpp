#include "data/survey/column_watch.hpp"

#include <algorithm>
#include <charconv>
#include <functional>

namespace rldp::data {

namespace {

bool is_number(std::string_view text) {
    double value = 0;
    const auto end = text.data() + text.size();
    const auto [stop, status] = std::from_chars(text.data() + (text.starts_with('+') ? 1 : 0), end, value);
    return status == std::errc() && stop == end;
}

/// 2026-01-31, 31.01.2026, 1/31/2026, with a time behind it or not.
bool is_date(std::string_view text) {
    text = text.substr(0, text.find_first_of(" T"));
    std::size_t digits = 0, marks = 0;
    for (const char c : text) {
        if (c >= '0' && c <= '9')
            ++digits;
        else if (c == '-' || c == '/' || c == '.')
            ++marks;
        else
            return false;
    }
    return marks == 2 && digits >= 4 && digits <= 8;
}

}  // namespace

void column_watch::see(std::string_view value) {
    if (std::find(values_for_none.begin(), values_for_none.end(), value) != values_for_none.end()) {
        ++missing_;
        return;
    }
    ++present_;
    numbers_ += is_number(value) ? 1 : 0;
    dates_ += is_date(value) ? 1 : 0;
    bytes_ += value.size();
    words_ += 1 + static_cast<std::size_t>(std::count(value.begin(), value.end(), ' '));
    if (seen_.size() < most_distinct) seen_.insert(std::hash<std::string_view>{}(value));
}

column_type column_watch::type() const {
    if (present_ == 0) return column_type::empty;
    if (seen_.size() == 1 && missing_ == 0 && present_ > 1) return column_type::constant;
    if (dates_ == present_) return column_type::date;
    if (numbers_ == present_) return column_type::number;
    constexpr std::size_t words_of_prose = 6;
    if (words_ >= words_of_prose * present_) return column_type::prose;
    constexpr std::size_t most_categories = 1000;
    if (seen_.size() <= std::min(most_categories, 1 + present_ / 4)) return column_type::category;
    return column_type::other;
}

}  // namespace rldp::data

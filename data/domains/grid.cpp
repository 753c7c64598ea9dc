#include "data/domains/grid.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.hpp"
#include "data/sources/tables.hpp"

namespace rldp::data {

namespace {

constexpr int least_power = -9, powers = 24;  // 10^-9 … 10^14
constexpr std::size_t digits_kept = 3;

constexpr double stands_out = 4, stands_out_within = 3.2;  // deviations

/// 10^power, 0 ≤ power ≤ 18.
std::int64_t ten_to(int power) {
    std::int64_t out = 1;
    for (; power > 0; --power) out *= 10;
    return out;
}

/// A number's sign, its power of ten, and its first digits.
struct leading {
    bool negative = false;
    int power = 0;
    std::array<int, digits_kept> digits{};
};

/// None for 0, and for what is as near to it as that.
std::optional<leading> read_leading(std::string_view text) {
    leading out{.negative = text.starts_with('-')};
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    const auto point = std::min(text.find('.'), text.size());
    std::size_t found = 0;
    for (std::size_t i = 0; i < text.size() && found < digits_kept; ++i) {
        if (i == point || (found == 0 && text[i] == '0')) continue;
        if (found == 0)
            out.power = i < point ? static_cast<int>(point - i) - 1 : static_cast<int>(point) - static_cast<int>(i);
        out.digits[found++] = text[i] - '0';
    }
    return found > 0 && out.power >= least_power ? std::optional(out) : std::nullopt;
}

/// Digits of a bucket, most significant first, whose number is from 0 on in the order of values.
struct spelled_bucket {
    int sign = 0;  ///< of its values
    int power = 0;
    std::vector<int> digits;  ///< as many as its level
};

constexpr std::size_t zero_bucket = powers;

spelled_bucket spell(const bucket& which) {
    spelled_bucket out;
    std::vector<std::size_t> parts(which.level);
    auto index = which.index;
    for (auto level = which.level; level > 0; --level) {
        const auto each = number_grid.parts[level - 1];
        parts[level - 1] = index % each;
        index /= each;
    }
    if (index == zero_bucket) return out;
    out.sign = index > zero_bucket ? 1 : -1;
    const auto beyond = static_cast<int>(index > zero_bucket ? index - zero_bucket : zero_bucket - index) - 1;
    out.power = least_power + beyond;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto at = static_cast<int>(parts[i]);
        const int first = i == 0 ? 1 : 0, last = 9;
        out.digits.push_back(out.sign > 0 ? first + at : last - at);
    }
    return out;
}

/// The largest whole number at most a·10^power, and whether it is that.
std::pair<std::int64_t, bool> floor_of(std::int64_t a, int power) {
    constexpr std::int64_t most = 999'999'999'999'999;  // of a schema's numbers
    if (power >= 0) {
        if (power > 15 || a > most / ten_to(power)) return {most, true};
        return {a * ten_to(power), true};
    }
    if (power < -18) return {0, a == 0};
    const auto divisor = ten_to(-power);
    return {a / divisor, a % divisor == 0};
}

}  // namespace

const grid number_grid{2 * powers + 1, {9, 10, 10}};
const grid date_grid{1000, {10, 12}};

std::size_t grid::size(std::size_t level) const {
    std::size_t out = top;
    for (std::size_t i = 0; i < level; ++i) out *= parts[i];
    return out;
}

std::optional<grid_place> place_number(std::string_view text) {
    if (!is_plain_number(text)) return std::nullopt;
    const auto number = read_leading(text);
    grid_place out(number_grid.levels());
    out[0] = zero_bucket;
    if (number) {
        const auto beyond = static_cast<std::size_t>(number->power - least_power);
        if (beyond >= powers) return std::nullopt;
        out[0] = number->negative ? zero_bucket - 1 - beyond : zero_bucket + 1 + beyond;
    }
    for (std::size_t level = 1; level < out.size(); ++level) {
        std::size_t part = 0;
        if (number) {
            const int digit = number->digits[level - 1], first = level == 1 ? 1 : 0;
            part = static_cast<std::size_t>(number->negative ? 9 - digit : digit - first);
        }
        out[level] = out[level - 1] * number_grid.parts[level - 1] + part;
    }
    return out;
}

grid_place place_day(std::int64_t day) {
    const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
    const auto year = static_cast<std::size_t>(static_cast<int>(date.year()));
    return {year / 10, year, year * 12 + static_cast<unsigned>(date.month()) - 1};
}

std::pair<std::int64_t, std::int64_t> numbers_in(const bucket& which, std::int64_t step, int decimals) {
    require(step > 0 && decimals >= 0 && decimals <= 9, "grid: a step that is none");
    const auto spelled = spell(which);
    if (spelled.sign == 0) return {0, 0};
    std::int64_t mantissa = 0;
    for (const int digit : spelled.digits) mantissa = 10 * mantissa + digit;
    // Magnitudes from `least` on, below `beyond`, in units of 10^(power + 1 - digits).
    const std::int64_t least = spelled.digits.empty() ? 1 : mantissa,
                       beyond = spelled.digits.empty() ? 10 : mantissa + 1;
    const int exponent = spelled.power + decimals - std::max(0, static_cast<int>(spelled.digits.size()) - 1);
    const auto low = floor_of(least, exponent).first / step * step;
    const auto [end, exact] = floor_of(beyond, exponent);
    const auto high = std::max(low, (exact ? end - 1 : end) / step * step);
    return spelled.sign > 0 ? std::pair{low, high} : std::pair{-high, -low};
}

std::pair<std::int64_t, std::int64_t> days_in(const bucket& which) {
    using namespace std::chrono;
    std::size_t first = which.index, count = 1;  // months since the year 0
    for (auto level = which.level; level + 1 < date_grid.levels(); ++level) {
        first *= date_grid.parts[level];
        count *= date_grid.parts[level];
    }
    const auto begin = [](std::size_t months) {
        const year_month_day day{year(static_cast<int>(months / 12)), month(static_cast<unsigned>(months % 12) + 1),
                                 std::chrono::day(1)};
        return sys_days(day).time_since_epoch().count();
    };
    constexpr std::size_t year_one = 12, year_10000 = std::size_t{12} * 10000;
    return {begin(std::max(first, year_one)), begin(std::min(first + count, year_10000)) - 1};
}

namespace {

/// Within `from`, seen from the left or from the right.
bucket descend(const grid& of, std::span<const noised_level> levels, bucket from, bool from_left) {
    while (from.level + 1 < of.levels()) {
        const auto parts = of.parts[from.level];
        const auto& next = levels[from.level + 1];
        double sum = 0;
        std::optional<std::size_t> found;
        for (std::size_t i = 0; i < parts && !found; ++i) {
            const auto index = from.index * parts + (from_left ? i : parts - 1 - i);
            sum += next.counts[index];
            if (sum >= stands_out_within * next.deviation * std::sqrt(static_cast<double>(i + 1))) found = index;
        }
        if (!found) break;
        from = {from.level + 1, *found};
    }
    return from;
}

}  // namespace

std::optional<std::pair<bucket, bucket>> find_ends(const grid& of, std::span<const noised_level> levels) {
    require(levels.size() == of.levels(), "grid: counts of another grid");
    for (std::size_t level = 0; level < levels.size(); ++level)
        require(levels[level].counts.size() == of.size(level), "grid: counts of another grid");
    const auto& top = levels.front();
    const auto seen = [&](double count) { return count >= stands_out * top.deviation; };
    const auto first = std::find_if(top.counts.begin(), top.counts.end(), seen);
    if (first == top.counts.end()) return std::nullopt;
    const auto last = std::find_if(top.counts.rbegin(), top.counts.rend(), seen);
    const auto number = [&](auto at) { return static_cast<std::size_t>(at - top.counts.begin()); };
    return std::pair{descend(of, levels, {0, number(first)}, true),
                     descend(of, levels, {0, number(last.base()) - 1}, false)};
}

}  // namespace rldp::data

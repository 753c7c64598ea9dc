#pragma once
// Public grids: buckets that no value moves, in levels, each bucket divided in the next. Numbers by their power of ten
// and then by their first three digits; dates by decade, year and month.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace rldp::data {

/// A level's buckets lie in the order of their values; those that a bucket is divided into lie side by side.
struct grid {
    std::size_t top;                 ///< buckets of the first level
    std::vector<std::size_t> parts;  ///< how many each bucket of a level is divided into; one fewer than levels

    std::size_t levels() const { return parts.size() + 1; }
    /// Buckets of a level.
    std::size_t size(std::size_t level) const;
};

/// Magnitudes from 10^-9 to below 10^15, of either sign, and 0.
extern const grid number_grid;
/// Years 1 to 9999.
extern const grid date_grid;

/// The bucket of a value in each level.
using grid_place = std::vector<std::size_t>;

/// Of digits with a sign before them and a point among them at most. None for anything else and beyond the grid; what
/// is nearer to 0 than 10^-9 counts as 0.
std::optional<grid_place> place_number(std::string_view text);
/// Of days since 1970-01-01.
grid_place place_day(std::int64_t day);

struct bucket {
    std::size_t level = 0, index = 0;
};

/// Lowest and highest multiple of `step` in the bucket, both in units of 10^-decimals; where it holds none, the ones
/// beside it.
std::pair<std::int64_t, std::int64_t> numbers_in(const bucket& which, std::int64_t step, int decimals);
/// First and last day.
std::pair<std::int64_t, std::int64_t> days_in(const bucket& which);

/// Counts of a level's buckets with noise.
struct noised_level {
    std::vector<double> counts;
    double deviation = 0;  ///< of the noise
};

/// Where values begin and where they end, as far as counts stand out of their noise: from either end the first bucket,
/// or run of buckets, that does, and within it as deep as one does. None where none does. What lies beyond the ends is
/// values that the noise hides. One count of many counts from 4 deviations on, a sum within a bucket from 3.2.
std::optional<std::pair<bucket, bucket>> find_ends(const grid& of, std::span<const noised_level> levels);

}  // namespace rldp::data

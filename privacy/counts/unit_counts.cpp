#include "privacy/counts/unit_counts.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/error.hpp"

namespace rldp::privacy {

namespace {

constexpr std::int64_t whole_unit = std::int64_t{1} << 30;
constexpr double grid = 0x1p-20;  // of a deviation: what is below it tells of the sum's last bits

/// That a standard normal is above x.
double upper_tail(double x) {
    return std::erfc(x / std::numbers::sqrt2) / 2;
}

/// The sums, in whole numbers, with noise, on the public grid.
std::vector<double> add_noise(const std::vector<std::int64_t>& sums, double deviation, random_stream& stream) {
    std::vector<double> out(sums.size());
    stream.normals(out);
    const double step = deviation * grid;
    for (std::size_t i = 0; i < out.size(); ++i) {
        const double value = static_cast<double>(sums[i]) / whole_unit + deviation * out[i];
        out[i] = std::nearbyint(value / step) * step;
    }
    return out;
}

}  // namespace

double count_deviation(const counts_price& price, double share) {
    require_positive(price.noise_multiplier, "the noise multiplier of counts");
    require_positive(share, "a list's share");
    return price.noise_multiplier / std::sqrt(share);
}

double selection_threshold(double deviation, std::int64_t rows, double delta) {
    require_positive(deviation, "the noise of an open list");
    require(rows >= 1 && delta > 0 && delta < 1, "a threshold of nothing");
    // The unit's parts add up to 1. Below the threshold the tail is convex in a part, so their sum is largest where one
    // value has all of it.
    const auto chance = [&](double threshold) {
        return upper_tail((threshold - 1) / deviation) +
               static_cast<double>(rows - 1) * upper_tail(threshold / deviation);
    };
    double low = 1, high = 1 + 40 * deviation;
    while (high - low > 1e-12 * high) (chance((low + high) / 2) <= delta ? high : low) = (low + high) / 2;
    return high + deviation * grid;  // a count may have been rounded up
}

unit_counts::unit_counts(std::vector<counted_list> lists, std::int64_t rows)
    : lists_(std::move(lists)), rows_(rows), places_(lists_.size()), open_(lists_.size()) {
    require(rows >= 1, "counts: a unit has a row at least");
    double shares = 0;
    for (std::size_t i = 0; i < lists_.size(); ++i) {
        require_positive(lists_[i].share, "a list's share");
        shares += lists_[i].share;
        places_[i].resize(lists_[i].places);
    }
    require(shares <= 1 + 1e-9, "counts: the lists' shares are more than the whole");
}

void unit_counts::add(std::span<const row_place> at, std::int64_t rows) {
    require(at.size() == lists_.size(), "counts: a place for each list");
    require(rows >= 1 && rows <= rows_, "counts: a unit of more rows than were said");
    const auto part = whole_unit / rows;  // rounded down: a unit's parts add up to 1 at most
    for (std::size_t i = 0; i < at.size(); ++i) {
        if (const auto* place = std::get_if<std::size_t>(&at[i])) {
            places_[i].at(*place) += part;
        } else if (const auto* value = std::get_if<std::string_view>(&at[i])) {
            require(lists_[i].places == 0, "counts: a value in a list of places");
            const auto found = open_[i].find(*value);
            if (found == open_[i].end())
                open_[i].emplace(*value, part);
            else
                found->second += part;
        }
    }
}

noised_counts unit_counts::finish(const counts_charge& charged, const run_key& key) {
    require(!std::exchange(finished_, true), "counts: their noise was drawn already");
    const auto open = std::count_if(lists_.begin(), lists_.end(), [](const auto& one) { return one.places == 0; });
    require(open == 0 || charged.price().selection_delta > 0, "counts: nothing was charged for naming values");
    noised_counts out;
    double squares = 0;
    for (std::size_t i = 0; i < lists_.size(); ++i) {
        auto& list = out.lists.emplace_back();
        list.deviation = count_deviation(charged.price(), lists_[i].share);
        squares += 1 / (list.deviation * list.deviation);
        random_stream noise(key, purpose::counts, 0, i);
        if (lists_[i].places > 0) {
            list.places = add_noise(places_[i], list.deviation, noise);
            continue;
        }
        list.threshold =
            selection_threshold(list.deviation, rows_, charged.price().selection_delta / static_cast<double>(open));
        std::vector<std::int64_t> sums;
        for (const auto& [value, sum] : open_[i]) sums.push_back(sum);
        const auto noised = add_noise(sums, list.deviation, noise);
        std::size_t at = 0;
        for (const auto& [value, sum] : open_[i])
            if (const double count = noised[at++]; count >= list.threshold) list.found.emplace(value, count);
    }
    // What was charged is what a unit's whole vector, of all lists, is worth beside this noise.
    require(std::sqrt(squares) * charged.price().noise_multiplier <= 1 + 1e-9, "counts: less noise than was charged");
    return out;
}

}  // namespace rldp::privacy

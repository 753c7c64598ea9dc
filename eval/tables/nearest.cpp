#include "eval/tables/nearest.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/error.hpp"
#include "data/sources/records.hpp"
#include "eval/tables/distributions.hpp"

namespace rldp::eval {

namespace {

/// Of each text its distinct words, by their numbers.
std::vector<std::vector<std::uint32_t>> number_words(const std::vector<std::string>& texts) {
    std::unordered_map<std::string, std::uint32_t> numbers;
    std::vector<std::vector<std::uint32_t>> out;
    out.reserve(texts.size());
    for (const auto& text : texts) {
        auto& own = out.emplace_back();
        for (const auto& word : words_of_text(text))
            own.push_back(numbers.emplace(word, static_cast<std::uint32_t>(numbers.size())).first->second);
        std::sort(own.begin(), own.end());
        own.erase(std::unique(own.begin(), own.end()), own.end());
    }
    return out;
}

}  // namespace

row_distance::row_distance(const std::vector<value_column>& columns, const std::vector<double>& ranges)
    : words_of_(columns.size()) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
        require(columns[c].words.size() < (1U << 24), "as many words as float32 tells apart");
        kinds_.push_back(columns[c].kind);
        scale_.push_back(ranges[c] > 0 ? static_cast<float>(1 / ranges[c]) : 0);
        if (columns[c].kind == value_kind::text) words_of_[c] = number_words(columns[c].words);
    }
}

row_distance::rows row_distance::lay_out(const value_table& table, const std::vector<std::size_t>& which) const {
    rows out{{}, which.size()};
    out.values.reserve(which.size() * kinds_.size());
    for (const auto row : which)
        for (std::size_t c = 0; c < kinds_.size(); ++c)
            // Numbers in units of their range, so that float32 tells neighbours apart; those of no range are alike.
            out.values.push_back(kinds_[c] == value_kind::number
                                     ? static_cast<float>(table[c][row] * static_cast<double>(scale_[c]))
                                     : static_cast<float>(table[c][row]));
    return out;
}

float row_distance::of_texts(std::size_t column, float a, float b) const {
    const auto& x = words_of_[column][static_cast<std::size_t>(a)];
    const auto& y = words_of_[column][static_cast<std::size_t>(b)];
    std::size_t common = 0;
    for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
        common += x[i] == y[j] ? 1 : 0;
        const bool first = x[i] <= y[j], second = y[j] <= x[i];
        i += first ? 1 : 0;
        j += second ? 1 : 0;
    }
    const auto all = x.size() + y.size() - common;
    return all == 0 ? 1 : 1 - static_cast<float>(common) / static_cast<float>(all);
}

float row_distance::sum(const float* a, const float* b, float limit, std::size_t but) const {
    float out = 0;
    for (std::size_t c = 0; c < kinds_.size() && out <= limit; ++c) {
        if (c == but || a[c] == b[c]) continue;
        if (std::isnan(a[c]) || std::isnan(b[c])) {
            out += std::isnan(a[c]) && std::isnan(b[c]) ? 0 : 1;
            continue;
        }
        out += kinds_[c] == value_kind::number     ? std::min(1.F, std::abs(a[c] - b[c]))
               : kinds_[c] == value_kind::category ? 1
                                                   : of_texts(c, a[c], b[c]);
    }
    return out;
}

std::vector<nearest_rows> find_nearest(const row_distance& distance, const row_distance::rows& from,
                                       const row_distance::rows& to, int threads, std::size_t but, bool list) {
    require(to.count > 0, "there is a row to be near to");
    const auto width = distance.columns();
    const auto asked = static_cast<double>(width - (but == no_column ? 0 : 1));
    std::vector<nearest_rows> out(from.count);
    data::in_parallel(threads, from.count, [&](std::size_t, std::size_t i) {
        auto best = std::numeric_limits<float>::infinity();
        auto& found = out[i];
        for (std::size_t j = 0; j < to.count; ++j) {
            const auto sum = distance.sum(&from.values[i * width], &to.values[j * width], best, but);
            if (sum > best || (sum == best && !list)) continue;
            if (sum < best) found.which.clear();
            best = sum;
            if (list) found.which.push_back(j);
            if (best == 0 && !list) break;
        }
        found.distance = asked > 0 ? static_cast<double>(best) / asked : 0;
    });
    return out;
}

}  // namespace rldp::eval

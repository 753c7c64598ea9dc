#include "eval/tables/distributions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "base/error.hpp"
#include "base/text.hpp"

namespace rldp::eval {

namespace {

double sum_of(std::span<const double> counts) {
    return std::accumulate(counts.begin(), counts.end(), 0.0);
}

std::pair<double, double> check_support(std::span<const double> p, std::span<const double> q) {
    const std::pair sums(sum_of(p), sum_of(q));
    require(p.size() == q.size() && sums.first > 0 && sums.second > 0, "distributions of one support, none empty");
    return sums;
}

}  // namespace

double total_variation(std::span<const double> p, std::span<const double> q) {
    const auto [all_p, all_q] = check_support(p, q);
    double out = 0;
    for (std::size_t i = 0; i < p.size(); ++i) out += std::abs(p[i] / all_p - q[i] / all_q);
    return out / 2;
}

double jensen_shannon(std::span<const double> p, std::span<const double> q) {
    const auto [all_p, all_q] = check_support(p, q);
    const auto part = [](double own, double middle) { return own > 0 ? own * std::log2(own / middle) : 0; };
    double out = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
        const double a = p[i] / all_p, b = q[i] / all_q;
        out += part(a, (a + b) / 2) / 2 + part(b, (a + b) / 2) / 2;
    }
    return std::clamp(out, 0.0, 1.0);
}

value_bins::value_bins(const value_column& column, const std::vector<double>& sample, std::size_t most)
    : column_(column) {
    std::vector<double> there;
    for (const double value : sample)
        if (!std::isnan(value)) there.push_back(value);
    if (column.kind != value_kind::number) {
        std::vector<std::size_t> counts(column.words.size(), 0), order(column.words.size());
        for (const double value : there) ++counts[static_cast<std::size_t>(value)];
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return counts[a] > counts[b]; });
        by_word_.assign(column.words.size(), std::min(most, order.size()));
        for (std::size_t i = 0; i < std::min(most, order.size()); ++i) {
            by_word_[order[i]] = i;
            words_.push_back(order[i]);
        }
        size_ = words_.size() + 2;
        return;
    }
    std::sort(there.begin(), there.end());
    lowest_ = there.empty() ? 0 : there.front();
    ends_ = there;
    ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
    single_ = ends_.size() <= most;
    if (!single_) {
        ends_.clear();
        for (std::size_t i = 1; i <= most; ++i) ends_.push_back(there[i * there.size() / most - 1]);
        ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
    }
    size_ = ends_.size() + 2;
}

std::size_t value_bins::find(double value) const {
    if (std::isnan(value)) return missing();
    if (column_.kind != value_kind::number) {
        const auto word = static_cast<std::size_t>(value);
        require(word < by_word_.size(), "a value is one of its column's words");
        return by_word_[word];
    }
    const auto at = std::lower_bound(ends_.begin(), ends_.end(), value);
    const bool beyond = at == ends_.end() || (single_ && *at != value) || value < lowest_;
    return beyond ? ends_.size() : static_cast<std::size_t>(at - ends_.begin());
}

std::string value_bins::name(std::size_t bin) const {
    if (bin == missing()) return "missing";
    if (bin == size_ - 2) return "others";
    if (column_.kind != value_kind::number) return column_.words[words_[bin]];
    if (single_) return fmt::format("{:.6g}", ends_[bin]);
    return bin == 0 ? fmt::format("to {:.4g}", ends_[0]) : fmt::format("{:.4g} to {:.4g}", ends_[bin - 1], ends_[bin]);
}

std::vector<double> value_bins::count(std::span<const double> values) const {
    std::vector<double> out(size_, 0);
    for (const double value : values) ++out[find(value)];
    return out;
}

std::optional<double> correlation(std::span<const double> x, std::span<const double> y) {
    double n = 0, mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;  // Welford
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(x[i]) || std::isnan(y[i])) continue;
        ++n;
        const double dx = x[i] - mean_x, dy = y[i] - mean_y;
        mean_x += dx / n;
        mean_y += dy / n;
        xx += dx * (x[i] - mean_x);
        yy += dy * (y[i] - mean_y);
        xy += dx * (y[i] - mean_y);
    }
    if (!(xx > 0 && yy > 0)) return std::nullopt;
    return std::clamp(xy / std::sqrt(xx) / std::sqrt(yy), -1.0, 1.0);
}

std::optional<double> cramers_v(std::span<const double> x, std::span<const double> y) {
    const auto categories = [](std::span<const double> of) {
        double most = -1;
        for (const double value : of) most = std::isnan(value) ? most : std::max(most, value);
        return static_cast<std::size_t>(most + 1);
    };
    const auto rows = categories(x), columns = categories(y);
    std::vector<double> cells(rows * columns, 0), of_x(rows, 0), of_y(columns, 0);
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(x[i]) || std::isnan(y[i])) continue;
        const auto row = static_cast<std::size_t>(x[i]), column = static_cast<std::size_t>(y[i]);
        ++cells[row * columns + column];
        ++of_x[row];
        ++of_y[column];
    }
    const auto there = [](const std::vector<double>& counts) {
        return std::count_if(counts.begin(), counts.end(), [](double count) { return count > 0; });
    };
    const auto least = std::min(there(of_x), there(of_y));
    if (least < 2) return std::nullopt;
    double squares = 0;  // χ²/n = Σ observed²/(row · column) − 1
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j)
            if (const double count = cells[i * columns + j]; count > 0) squares += count * count / (of_x[i] * of_y[j]);
    return std::clamp(std::sqrt(std::max(0.0, squares - 1) / static_cast<double>(least - 1)), 0.0, 1.0);
}

std::optional<double> correlation_ratio(std::span<const double> category, std::span<const double> number) {
    struct group {
        double count = 0, sum = 0;
    };
    std::map<double, group> groups;
    double n = 0, sum = 0;
    for (std::size_t i = 0; i < category.size(); ++i) {
        if (std::isnan(category[i]) || std::isnan(number[i])) continue;
        auto& one = groups[category[i]];
        ++one.count;
        one.sum += number[i];
        ++n;
        sum += number[i];
    }
    if (groups.size() < 2) return std::nullopt;
    const double mean = sum / n;
    double all = 0, between = 0;
    for (std::size_t i = 0; i < category.size(); ++i)
        if (!std::isnan(category[i]) && !std::isnan(number[i])) all += (number[i] - mean) * (number[i] - mean);
    for (const auto& [unused, one] : groups) {
        const double off = one.sum / one.count - mean;
        between += one.count * off * off;
    }
    if (!(all > 0)) return std::nullopt;
    return std::sqrt(std::clamp(between / all, 0.0, 1.0));
}

association associate(const std::vector<value_kind>& kinds, const std::vector<std::vector<double>>& columns) {
    association out(columns.size(), std::vector<std::optional<double>>(columns.size()));
    for (std::size_t i = 0; i < columns.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) {
            const bool a = kinds[i] == value_kind::number, b = kinds[j] == value_kind::number;
            out[i][j] = a && b ? correlation(columns[i], columns[j])
                        : a    ? correlation_ratio(columns[j], columns[i])
                        : b    ? correlation_ratio(columns[i], columns[j])
                               : cramers_v(columns[i], columns[j]);
            out[j][i] = out[i][j];
        }
    return out;
}

std::vector<std::string> words_of_text(std::string_view text) {
    std::vector<std::string> out;
    bool inside = false;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool letter = byte >= 0x80 || (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                            (byte >= 'a' && byte <= 'z');
        if (letter && !inside) out.emplace_back();
        if (letter) out.back() += c;
        inside = letter;
    }
    for (auto& word : out) word = lower_case(std::move(word));
    return out;
}

std::optional<double> gram_distance(std::span<const std::string* const> a, std::span<const std::string* const> b,
                                    std::size_t n) {
    std::unordered_map<std::string, std::pair<double, double>> counts;
    const auto add = [&](std::span<const std::string* const> texts, bool first) {
        for (const auto* text : texts) {
            const auto words = words_of_text(*text);
            for (std::size_t i = 0; i + n <= words.size(); ++i) {
                std::string gram;
                for (std::size_t k = i; k < i + n; ++k) gram += words[k] + ' ';
                auto& count = counts[gram];
                ++(first ? count.first : count.second);
            }
        }
    };
    add(a, true);
    add(b, false);
    std::vector<double> p, q;
    for (const auto& [unused, count] : counts) {
        p.push_back(count.first);
        q.push_back(count.second);
    }
    if (!(sum_of(p) > 0 && sum_of(q) > 0)) return std::nullopt;
    return total_variation(p, q);
}

}  // namespace rldp::eval

#include "eval/tables/column_counts.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/error.hpp"
#include "data/grammar/dates.hpp"
#include "data/sources/tables.hpp"

namespace rldp::eval {

namespace {

/// How many values the domain has; 0 of one without places.
std::size_t count_values(const data::column_type& type) {
    if (const auto* number = std::get_if<data::number_type>(&type))
        return static_cast<std::size_t>(number->range.count());
    if (const auto* date = std::get_if<data::date_type>(&type))
        return static_cast<std::size_t>(date->last - date->first + 1);
    const auto* category = std::get_if<data::category_type>(&type);
    return category ? category->values.size() : 0;
}

}  // namespace

bool column_places::has(const data::column_type& type) {
    return count_values(type) > 0;
}

column_places::column_places(const data::row_template& how, const data::column_schema& column)
    : how_(how), column_(column) {
    const auto values = count_values(column.type);
    require(values > 0, "places of a column that has none");
    of_domain_ = std::min(values, most);
    if (const auto rule = how.columns.find(column.name); rule != how.columns.end()) rule_ = &rule->second;
    if (const auto* category = std::get_if<data::category_type>(&column.type))
        for (std::size_t i = 0; i < values; ++i) {
            const auto& value = category->values[i];
            const auto* told = rule_ && rule_->values.contains(value) ? &rule_->values.find(value)->second : &value;
            words_.emplace(*told, within(i, values));
        }
}

std::size_t column_places::within(std::size_t number, std::size_t count) const {
    // Both below 10^15 and 12: no product overflows.
    return number * of_domain_ / count;
}

std::size_t column_places::find(std::string_view cell) const {
    const auto other = of_domain_, missing = of_domain_ + 1;
    if (cell.empty() || how_.missing.contains(cell)) return missing;
    if (std::holds_alternative<data::category_type>(column_.type)) {
        const bool spelled = rule_ && rule_->values.contains(cell);
        const auto found = words_.find(spelled ? std::string_view(rule_->values.find(cell)->second) : cell);
        return found == words_.end() ? other : found->second;
    }
    if (const auto* date = std::get_if<data::date_type>(&column_.type)) {
        const auto day = data::read_date(cell, date->format);
        if (!day || *day < date->first || *day > date->last) return other;
        return within(static_cast<std::size_t>(*day - date->first), count_values(column_.type));
    }
    const auto& range = std::get<data::number_type>(column_.type).range;
    const auto pointed = rule_ && rule_->decimal_comma ? data::with_decimal_point(cell) : std::nullopt;
    const auto units = range.read(pointed ? std::string_view(*pointed) : cell);
    if (!units || *units < range.low || *units > range.high) return other;
    return within(static_cast<std::size_t>((*units - range.low) / range.step), count_values(column_.type));
}

noised_distance compute_distance(const noised_places& p, std::span<const double> exact) {
    require(p.counts.size() == exact.size() && !exact.empty(), "distance: lists of different lengths");
    require_positive(p.deviation, "the noise of counts");
    require_positive(p.units, "the number of units");
    const double all = std::accumulate(exact.begin(), exact.end(), 0.0), k = static_cast<double>(exact.size());
    require_positive(all, "the number of rows");
    noised_distance out;
    double sizes = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        out.estimate += std::abs(p.counts[i] / p.units - exact[i] / all) / 2;
        sizes += std::abs(p.counts[i]) / 2;
    }
    if (const double fewest = p.units - 2.5758293035489004 * p.units_deviation; fewest > 0) {
        const double moves = p.deviation * std::sqrt(k) / fewest / 2 * std::sqrt(2 * std::log(50.0));
        const double of_number = sizes / fewest - sizes / p.units;
        const double noise_alone = p.deviation * k * std::sqrt(2 / std::numbers::pi) / fewest / 2;
        out.low = std::clamp(out.estimate - noise_alone - moves - of_number, 0.0, 1.0);
        out.high = std::clamp(out.estimate + moves + of_number, 0.0, 1.0);
    }
    out.estimate = std::min(out.estimate, 1.0);
    return out;
}

}  // namespace rldp::eval

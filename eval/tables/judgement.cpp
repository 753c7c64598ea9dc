#include "eval/tables/judgement.hpp"

#include <boost/math/statistics/univariate_statistics.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "base/error.hpp"
#include "eval/tables/nearest.hpp"

namespace rldp::eval {

namespace {

constexpr std::size_t most_units = 5'000, most_made_up = 50'000, most_compared = 5'000, most_references = 20'000;
constexpr std::size_t most_inferred = 2'000;
constexpr std::size_t most_bins = 200, most_quantiles = 20, most_shown = 10, most_categories = 30, most_columns = 40;

using row_list = std::vector<std::size_t>;

row_list first_rows(std::size_t count) {
    row_list out(count);
    std::iota(out.begin(), out.end(), 0);
    return out;
}

row_list at_most(row_list rows, std::size_t most) {
    rows.resize(std::min(most, rows.size()));
    return rows;
}

std::vector<double> pick(const std::vector<double>& column, const row_list& rows) {
    std::vector<double> out;
    out.reserve(rows.size());
    for (const auto row : rows) out.push_back(column[row]);
    return out;
}

double median_of(std::vector<double> values) {
    return values.empty() ? 0 : boost::math::statistics::median(values);
}

/// Rows by which quality is judged: as many made-up ones as training ones.
struct quality_rows {
    row_list made_up, training, held_out;
};

double share_missing(const std::vector<double>& values) {
    const auto count = std::count_if(values.begin(), values.end(), [](double v) { return std::isnan(v); });
    return static_cast<double>(count) / static_cast<double>(values.size());
}

column_quality judge_column(const judged_tables& tables, const quality_rows& rows, std::size_t c) {
    const auto& column = tables.columns[c];
    const auto made_up = pick(tables.made_up[c], rows.made_up),
               training = pick(tables.training.values[c], rows.training),
               held_out = pick(tables.held_out.values[c], rows.held_out);
    column_quality out{
        .name = column.name, .kind = column.kind, .variation = {}, .divergence = {}, .missing = {}, .bins = {}};
    out.missing = {share_missing(made_up), share_missing(held_out)};
    if (column.kind == value_kind::text) return out;
    auto sample = held_out;
    sample.insert(sample.end(), training.begin(), training.end());
    const bool number = column.kind == value_kind::number;
    const value_bins bins(column, sample, number ? most_quantiles : most_bins);
    const auto reference = bins.count(held_out), of_made_up = bins.count(made_up), of_training = bins.count(training);
    out.variation = {total_variation(of_made_up, reference), total_variation(of_training, reference)};
    out.divergence = {jensen_shannon(of_made_up, reference), jensen_shannon(of_training, reference)};
    const value_bins few(column, sample, most_shown);
    const auto shown_real = few.count(held_out), shown_made_up = few.count(made_up);
    for (std::size_t i = 0; i < few.size(); ++i) {
        const beside_real share{shown_made_up[i] / static_cast<double>(made_up.size()),
                                shown_real[i] / static_cast<double>(held_out.size())};
        if (i + 2 < few.size() || share.made_up + share.real > 0) out.bins.push_back({few.name(i), share});
    }
    return out;
}

double mean_difference(const association& a, const association& b) {
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) {
            if (!a[i][j] && !b[i][j]) continue;
            sum += std::abs(a[i][j].value_or(0) - b[i][j].value_or(0));
            ++count;
        }
    return count > 0 ? sum / count : 0;
}

pair_quality judge_pairs(const judged_tables& tables, const quality_rows& rows) {
    pair_quality out;
    std::vector<value_kind> kinds;
    std::vector<std::vector<double>> held_out, made_up, training;
    // Association of many categories grows as rows get fewer: all three have as many.
    const auto count = std::min(rows.made_up.size(), rows.held_out.size());
    for (std::size_t c = 0; c < tables.columns.size() && out.columns.size() < most_columns; ++c) {
        const auto& column = tables.columns[c];
        if (column.kind == value_kind::text) continue;
        out.columns.push_back(c);
        kinds.push_back(column.kind);
        auto of_held_out = pick(tables.held_out.values[c], at_most(rows.held_out, count)),
             of_made_up = pick(tables.made_up[c], at_most(rows.made_up, count)),
             of_training = pick(tables.training.values[c], at_most(rows.training, count));
        if (column.kind == value_kind::category) {
            const value_bins bins(column, of_held_out, most_categories);
            for (auto* values : {&of_held_out, &of_made_up, &of_training})
                for (auto& value : *values)
                    if (!std::isnan(value)) value = static_cast<double>(bins.find(value));
        }
        held_out.push_back(std::move(of_held_out));
        made_up.push_back(std::move(of_made_up));
        training.push_back(std::move(of_training));
    }
    out.real = associate(kinds, held_out);
    out.made_up = associate(kinds, made_up);
    out.difference = {mean_difference(out.made_up, out.real), mean_difference(associate(kinds, training), out.real)};
    return out;
}

using text_list = std::vector<const std::string*>;

text_list list_texts(const value_column& column, const std::vector<double>& values, const row_list& rows) {
    text_list out;
    for (const auto row : rows)
        if (!std::isnan(values[row])) out.push_back(&column.words[static_cast<std::size_t>(values[row])]);
    return out;
}

text_quality::lengths measure_lengths(const text_list& texts) {
    if (texts.empty()) return {};
    std::vector<double> out;
    for (const auto* text : texts)
        out.push_back(static_cast<double>(
            std::count_if(text->begin(), text->end(), [](char c) { return (c & '\xc0') != '\x80'; })));
    std::sort(out.begin(), out.end());
    return {median_of(out), out[(out.size() - 1) * 19 / 20]};
}

std::optional<beside_real> share_known(const text_list& made_up, const text_list& held_out, const text_list& training) {
    if (made_up.empty() || held_out.empty()) return std::nullopt;
    const std::unordered_set<const std::string*> known(training.begin(), training.end());  // equal texts are one word
    const auto share = [&](const text_list& texts) {
        const auto count =
            std::count_if(texts.begin(), texts.end(), [&](const auto* text) { return known.contains(text); });
        return static_cast<double>(count) / static_cast<double>(texts.size());
    };
    return beside_real{share(made_up), share(held_out)};
}

text_quality judge_text(const judged_tables& tables, const quality_rows& rows, std::size_t c) {
    const auto& column = tables.columns[c];
    const auto made_up = list_texts(column, tables.made_up[c], rows.made_up),
               training = list_texts(column, tables.training.values[c], rows.training),
               held_out = list_texts(column, tables.held_out.values[c], rows.held_out);
    text_quality out{.name = column.name,
                     .made_up = measure_lengths(made_up),
                     .real = measure_lengths(held_out),
                     .grams = {},
                     .known = share_known(made_up, held_out, training)};
    for (std::size_t n = 1; n <= out.grams.size(); ++n) {
        const auto of_made_up = gram_distance(made_up, held_out, n), of_training = gram_distance(training, held_out, n);
        if (of_made_up && of_training) out.grams[n - 1] = {*of_made_up, *of_training};
    }
    return out;
}

double share_unique(const value_table& table, const row_list& rows) {
    std::unordered_map<std::string, std::size_t> counts;
    for (const auto row : rows) {
        std::string bytes(table.size() * sizeof(double), '\0');
        for (std::size_t c = 0; c < table.size(); ++c) {
            const double value = std::isnan(table[c][row]) ? missing_value : table[c][row];  // one NaN for all
            std::memcpy(&bytes[c * sizeof value], &value, sizeof value);
        }
        ++counts[bytes];
    }
    const auto once = std::count_if(counts.begin(), counts.end(), [](const auto& one) { return one.second == 1; });
    return static_cast<double>(once) / static_cast<double>(rows.size());
}

// Privacy.

/// Between the 1 % and the 99 % quantile of all real rows, so that one wild value does not make all others alike.
double usual_range(std::vector<double> values) {
    std::erase_if(values, [](double value) { return std::isnan(value); });
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const auto last = values.size() - 1;
    const double range = values[last - last / 100] - values[last / 100];
    return range > 0 ? range : values.back() - values.front();
}

std::vector<double> find_ranges(const judged_tables& tables) {
    std::vector<double> out;
    for (std::size_t c = 0; c < tables.columns.size(); ++c) {
        auto values = tables.training.values[c];
        values.insert(values.end(), tables.held_out.values[c].begin(), tables.held_out.values[c].end());
        out.push_back(tables.columns[c].kind == value_kind::number ? usual_range(std::move(values)) : 0);
    }
    return out;
}

/// The first units' rows, and which unit, counted from 0, each is of.
struct unit_rows {
    row_list rows, unit;
    std::size_t units = 0;
};

unit_rows first_units(const real_rows& from, std::size_t most, bool one_row) {
    unit_rows out;
    for (std::size_t row = 0; row < from.unit.size(); ++row) {
        const bool fresh = row == 0 || from.unit[row] != from.unit[row - 1];
        if (fresh && out.units == most) break;
        out.units += fresh ? 1 : 0;
        if (one_row && !fresh) continue;
        out.rows.push_back(row);
        out.unit.push_back(out.units - 1);
    }
    return out;
}

/// How near a made-up row comes to any of a unit's.
std::vector<double> nearest_of_units(const row_distance& distance, const real_rows& from,
                                     const row_distance::rows& made_up, int threads) {
    const auto units = first_units(from, most_units, false);
    const auto found = find_nearest(distance, distance.lay_out(from.values, units.rows), made_up, threads);
    std::vector<double> out(units.units, std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < found.size(); ++i) out[units.unit[i]] = std::min(out[units.unit[i]], found[i].distance);
    return out;
}

std::vector<double> distances_of(const std::vector<nearest_rows>& found) {
    std::vector<double> out;
    for (const auto& one : found) out.push_back(one.distance);
    return out;
}

std::optional<proportion> share_within(const std::vector<double>& distances, double near) {
    if (distances.empty()) return std::nullopt;
    constexpr double rounding = 1e-6;  // sums are of float32
    const auto count =
        std::count_if(distances.begin(), distances.end(), [&](double one) { return one <= near + rounding; });
    return compute_proportion(static_cast<std::size_t>(count), distances.size());
}

nearness judge_nearness(const judged_tables& tables, const row_distance& distance, int threads) {
    nearness out;
    const auto all = count_rows(tables.made_up);
    const auto made_up = distance.lay_out(tables.made_up, first_rows(std::min(all, most_made_up)));
    out.training = nearest_of_units(distance, tables.training, made_up, threads);
    out.held_out = nearest_of_units(distance, tables.held_out, made_up, threads);
    out.near = 1 / static_cast<double>(tables.columns.size());
    out.training_near = share_within(out.training, out.near);
    out.held_out_near = share_within(out.held_out, out.near);
    // The other way: of as many rows, for among more the nearest is nearer.
    const auto count = std::min({tables.training.unit.size(), tables.held_out.unit.size(), most_references});
    const auto few = distance.lay_out(tables.made_up, first_rows(std::min(all, most_compared)));
    const auto to_training =
        distances_of(find_nearest(distance, few, distance.lay_out(tables.training.values, first_rows(count)), threads));
    const auto to_held_out =
        distances_of(find_nearest(distance, few, distance.lay_out(tables.held_out.values, first_rows(count)), threads));
    out.compared = few.count;
    out.to_training = median_of(to_training);
    out.to_held_out = median_of(to_held_out);
    for (std::size_t i = 0; i < few.count; ++i)
        out.nearer_to_training += (to_training[i] < to_held_out[i]    ? 1
                                   : to_training[i] == to_held_out[i] ? 0.5
                                                                      : 0) /
                                  static_cast<double>(few.count);
    return out;
}

membership_by_distance guess_members_by(const nearness& near) {
    const auto scores = [](std::vector<double> distances) {
        for (auto& one : distances) one = -one;
        return distances;
    };
    const auto members = scores(near.training), others = scores(near.held_out);
    return {.members = members.size(),
            .others = others.size(),
            .attack = measure_auc(members, others),
            .at_percent = true_positives_at(0.01, members, others),
            .curve = roc_curve(members, others)};
}

/// Of each target how close the nearest rows' values come to its own, 1 being exact; the mean over ties.
std::vector<double> closeness(const judged_tables& tables, std::size_t column, double range,
                              const std::vector<nearest_rows>& found, const row_list& targets, const value_table& of,
                              const row_list& near, const value_table& of_near) {
    const bool number = tables.columns[column].kind == value_kind::number;
    std::vector<double> out;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const double own = of[column][targets[i]];
        if (number && std::isnan(own)) continue;
        double sum = 0;
        for (const auto which : found[i].which) {
            const double said = of_near[column][near[which]];
            const bool both = std::isnan(own) && std::isnan(said);
            if (both || own == said)
                sum += 1;
            else if (number && !std::isnan(said) && range > 0)
                sum += std::max(0.0, 1 - std::abs(own - said) / range);
        }
        out.push_back(sum / static_cast<double>(found[i].which.size()));
    }
    return out;
}

double mean_of(const std::vector<double>& values) {
    return values.empty() ? 0 : boost::math::statistics::mean(values);
}

/// Squared standard error of the mean.
double squared_error(const std::vector<double>& values) {
    return values.size() < 2 ? 1
                             : boost::math::statistics::sample_variance(values) / static_cast<double>(values.size());
}

attribute_inference infer(const judged_tables& tables, const row_distance& distance, const std::vector<double>& ranges,
                          std::size_t column, int threads) {
    const auto made_up = first_rows(std::min(count_rows(tables.made_up), most_made_up));
    const auto references = first_rows(std::min(tables.held_out.unit.size(), most_references));
    const auto members = first_units(tables.training, most_inferred, true).rows,
               others = first_units(tables.held_out, most_inferred, true).rows;
    const auto infer_by = [&](const real_rows& from, const row_list& targets, const value_table& by,
                              const row_list& which) {
        const auto found = find_nearest(distance, distance.lay_out(from.values, targets), distance.lay_out(by, which),
                                        threads, column, true);
        return closeness(tables, column, ranges[column], found, targets, from.values, which, by);
    };
    const auto of_members = infer_by(tables.training, members, tables.made_up, made_up),
               of_others = infer_by(tables.held_out, others, tables.made_up, made_up);
    attribute_inference out{
        .name = tables.columns[column].name,
        .members = of_members.size(),
        .others = of_others.size(),
        .members_by_table = mean_of(of_members),
        .others_by_table = mean_of(of_others),
        .members_by_others = mean_of(infer_by(tables.training, members, tables.held_out.values, references))};
    constexpr double normal = 1.959963984540054;  // 97.5 % of the normal law lie below
    const double difference = out.members_by_table - out.others_by_table,
                 reach = normal * std::sqrt(squared_error(of_members) + squared_error(of_others));
    out.low = std::max(-1.0, difference - reach);
    out.high = std::min(1.0, difference + reach);
    return out;
}

}  // namespace

membership_verdict judge_membership(const membership_by_distance& of) {
    constexpr std::size_t fewest = 30;  // DeLong's interval is one of many
    if (!of.attack || of.members < fewest || of.others < fewest) return membership_verdict::too_few;
    return of.attack->low > 0.5 ? membership_verdict::beyond_chance : membership_verdict::within_chance;
}

table_judgement judge(const judged_tables& tables, int threads) {
    require(count_rows(tables.made_up) > 0 && !tables.training.unit.empty() && !tables.held_out.unit.empty(),
            "each table has a row");
    const auto rows = std::min(count_rows(tables.made_up), tables.training.unit.size());
    const quality_rows by{first_rows(rows), first_rows(rows), first_rows(tables.held_out.unit.size())};
    table_judgement out;
    out.rows = rows;
    out.held_out = by.held_out.size();
    for (std::size_t c = 0; c < tables.columns.size(); ++c) {
        out.columns.push_back(judge_column(tables, by, c));
        if (tables.columns[c].kind == value_kind::text) out.texts.push_back(judge_text(tables, by, c));
    }
    out.pairs = judge_pairs(tables, by);
    out.unique_of = std::min(rows, by.held_out.size());
    out.unique = {share_unique(tables.made_up, at_most(by.made_up, out.unique_of)),
                  share_unique(tables.held_out.values, at_most(by.held_out, out.unique_of))};
    const auto ranges = find_ranges(tables);
    const row_distance distance(tables.columns, ranges);
    out.near = judge_nearness(tables, distance, threads);
    out.membership = guess_members_by(out.near);
    for (const auto column : tables.sensitive)
        out.inference.push_back(infer(tables, distance, ranges, column, threads));
    return out;
}

}  // namespace rldp::eval

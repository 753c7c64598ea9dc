#pragma once
// A made-up table judged by the records that its model was trained on and by those that it never saw: how like them it
// is, and what it gives away of the former.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "eval/audit/statistics/membership_inference.hpp"
#include "eval/tables/distributions.hpp"
#include "eval/tables/values.hpp"

namespace rldp::eval {

// Input. Three tables of the same columns, their rows in an order that says nothing: often the first ones stand for
// all.

/// A unit's rows stand one after the other.
struct real_rows {
    value_table values;
    std::vector<std::uint64_t> unit;  ///< of each row
};

struct judged_tables {
    std::vector<value_column> columns;
    value_table made_up;
    real_rows training, held_out;
    std::vector<std::size_t> sensitive;  ///< columns, none of them text
    std::optional<std::size_t> target;   ///< column, not text
};

// Quality. Distances to held-out rows. Beside each stands that of as many training rows: what other real rows reach.

struct beside_real {
    double made_up = 0, real = 0;
};

struct column_quality {
    std::string name;
    value_kind kind = value_kind::category;
    std::optional<beside_real> variation, divergence;  ///< none of text; Jensen and Shannon's in bits
    beside_real missing;                               ///< shares of rows; real: held-out ones
    struct bin {
        std::string name;
        beside_real share;  ///< real: of held-out rows
    };
    std::vector<bin> bins;  ///< few, for a figure; none of text
};

struct pair_quality {
    std::vector<std::size_t> columns;  ///< which
    association real, made_up;         ///< real: held-out rows
    beside_real difference;            ///< mean of |difference| from held-out rows; no association counts as 0
};

struct text_quality {
    std::string name;
    struct lengths {
        double median = 0, most_of_all = 0;  ///< characters; 19 of 20 are no longer than the latter
    };
    lengths made_up, real;
    std::array<std::optional<beside_real>, 3> grams;  ///< total variation of runs of 1, 2, 3 words
    std::optional<beside_real> known;                 ///< share of texts that a training row has too; real: held-out
};

struct rule_quality {
    std::string rule;
    struct count {
        std::size_t asked = 0, broken = 0;  ///< rows that the rule says something of, and those that break it
    };
    count made_up, real;  ///< real: all records, training and held-out
};

/// Of one classifier, by what it was trained on; judged on the same held-out rows.
struct classifier_quality {
    std::string name;
    struct score {
        double auc = 0, accuracy = 0;
        std::optional<measured_auc> interval;  ///< where there are two classes
    };
    score made_up, real;
};

struct target_quality {
    std::string name;
    std::vector<std::string> classes;
    std::size_t rows = 0, held_out = 0;  ///< that each was trained on, and judged by
    double commonest = 0;                ///< accuracy of the commonest class alone
    std::vector<classifier_quality> classifiers;
};

// Privacy. What the table tells of the rows that its model was trained on, beside the same of rows that it never saw.

struct row_counts {
    std::size_t training = 0, held_out = 0, made_up = 0;
    std::size_t training_found = 0, held_out_found = 0;         ///< that some made-up row is identical to
    std::size_t made_up_in_training = 0, made_up_held_out = 0;  ///< that are identical to such a row
};

struct nearness {
    std::vector<double> training, held_out;  ///< of units looked at: distance to the nearest made-up row
    double near = 0;                         ///< a distance: one whole column
    std::optional<proportion> training_near, held_out_near;
    std::size_t compared = 0;                 ///< made-up rows that their nearest real ones were looked for
    double to_training = 0, to_held_out = 0;  ///< medians of their distances to as many rows of either side
    double nearer_to_training = 0;            ///< share of them, ties counting half: 0.5 favours nobody
};

struct membership_by_distance {
    std::size_t members = 0, others = 0;  ///< units
    std::optional<measured_auc> attack;   ///< the nearer a made-up row, the likelier a member
    std::optional<proportion> at_percent;
    std::vector<roc_point> curve;
};

/// How well a sensitive column is told from all others, 1 being exact: the nearest row says it. Of a category the share
/// that is right, of a number 1 − the mean distance in the column's range.
struct attribute_inference {
    std::string name;
    std::size_t members = 0, others = 0;
    double members_by_table = 0;   ///< units in training, by the made-up table
    double others_by_table = 0;    ///< units that it never saw, by the same table
    double members_by_others = 0;  ///< units in training, by held-out rows: they never saw them
    double low = -1, high = 1;     ///< 95 % interval of members_by_table − others_by_table
};

struct secret_search {
    std::size_t planted = 0, found = 0;          ///< secrets in training records, and those that a made-up cell has
    std::size_t made_up = 0, made_up_found = 0;  ///< secrets as long that are in no record
};

struct table_judgement {
    std::size_t rows = 0;      ///< of made-up and training rows that quality is judged by
    std::size_t held_out = 0;  ///< rows that they are held against
    std::vector<column_quality> columns;
    pair_quality pairs;
    std::vector<text_quality> texts;
    std::vector<rule_quality> rules;
    std::size_t unique_of = 0;  ///< rows of each table that were looked at
    beside_real unique;         ///< shares of rows that no other is identical to; real: held-out
    std::optional<target_quality> target;

    row_counts identical;
    nearness near;
    membership_by_distance membership;
    std::vector<attribute_inference> inference;
    std::optional<secret_search> secrets;

    std::vector<std::string> left_out;  ///< a line each: what is missing, why, how to get it
};

/// What the membership attack's interval says.
enum class membership_verdict : std::uint8_t { beyond_chance, within_chance, too_few };
/// Too few: fewer than 30 units on a side.
membership_verdict judge_membership(const membership_by_distance& of);

/// All but `rules`, `identical`, `secrets` and `target`. Each table has a row. On several threads; the same for any
/// number of them.
table_judgement judge(const judged_tables& tables, int threads);

}  // namespace rldp::eval

#pragma once
// What a configuration chooses among and the libraries behind it know, too: enumerations with their words, limits,
// names of devices.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace rldp {

// Named values. Enumerations that files and commands have words for: one table each, of its values and their words.

template <class Value>
struct named_value {
    Value value;
    std::string_view name;
};

/// Specialised for every such enumeration: `what` a value is, for refusals, and `rows`, in the order of the reference.
template <class Value>
struct names;

template <class Value>
concept named = requires {
    names<Value>::rows;
};

template <named Value>
std::string name_of(Value value) {
    for (const auto& row : names<Value>::rows)
        if (row.value == value) return std::string(row.name);
    bug("a value without a name");
}

template <named Value>
std::vector<std::string> all_names() {
    std::vector<std::string> out;
    for (const auto& row : names<Value>::rows) out.emplace_back(row.name);
    return out;
}

/// "dcsgd_p and dcsgd_e": for sentences and refusals.
inline std::string joined_names(const std::vector<std::string>& all) {
    std::string out;
    for (std::size_t i = 0; i < all.size(); ++i) out += (i == 0 ? "" : i + 1 == all.size() ? " and " : ", ") + all[i];
    return out;
}

/// Errors: bad_input for any other word.
template <named Value>
Value parse_named(std::string_view word) {
    for (const auto& row : names<Value>::rows)
        if (row.name == word) return row.value;
    refuse(std::string(names<Value>::what) + " \"" + std::string(word) +
           "\" is unknown: " + joined_names(all_names<Value>()) + " are known");
}

}  // namespace rldp

namespace rldp::limits {

// Limits. What a key of the configuration shares with the library behind it: the schema prints them as ranges, the
// library holds to them.

inline constexpr std::int64_t largest_rank = 65536;      // of an adapter
inline constexpr std::int64_t longest_window = 1 << 24;  // tokens
inline constexpr std::int64_t most_synthetic_records = 1'000'000;
inline constexpr std::uint64_t most_synthetic_worlds = 1'000'000;
inline constexpr std::int64_t longest_secret = 10;                   // characters of a canary
inline constexpr std::int64_t fewest_references = 20;                // secrets that a law is fitted to
inline constexpr double least_radius = 1e-8, greatest_radius = 1e8;  // gradient norm

}  // namespace rldp::limits

namespace rldp {

// Devices. How one is named.

/// cpu, cuda or cuda:N with N below 1000.
inline bool is_device_name(std::string_view name) {
    if (name == "cpu" || name == "cuda") return true;
    if (!name.starts_with("cuda:")) return false;
    const auto number = name.substr(5);
    return !number.empty() && number.size() <= 3 &&
           std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Choices. What a configuration may choose among, where a few words are all there is to say: types for the libraries
// that do it, words for files.

/// Of a frozen base's numbers and products; tf32: float32 whose products on CUDA devices are in TensorFloat-32.
enum class precision { float32, tf32, bfloat16 };
template <>
struct names<precision> {
    static constexpr auto what = "precision";
    static constexpr named_value<precision> rows[] = {
        {precision::float32, "float32"}, {precision::tf32, "tf32"}, {precision::bfloat16, "bfloat16"}};
};

/// What a base's linear modules are held in: the numbers of its files, or blocks of few bits that are made of them.
enum class quantization { none, nf4, int8, q4_0, q4_1, q8_0 };
template <>
struct names<quantization> {
    static constexpr auto what = "quantization";
    static constexpr named_value<quantization> rows[] = {{quantization::none, "none"}, {quantization::nf4, "nf4"},
                                                         {quantization::int8, "int8"}, {quantization::q4_0, "q4_0"},
                                                         {quantization::q4_1, "q4_1"}, {quantization::q8_0, "q8_0"}};
};

/// Which side a unit is on: by a keyed hash of the unit alone, or by its place in a shuffled table.
enum class split_kind { hash, exact };
template <>
struct names<split_kind> {
    static constexpr auto what = "split";
    static constexpr named_value<split_kind> rows[] = {{split_kind::hash, "hash"}, {split_kind::exact, "exact"}};
};

/// What is kept of a record that is too long.
enum class kept_end { head, tail };
template <>
struct names<kept_end> {
    static constexpr auto what = "end of a record";
    static constexpr named_value<kept_end> rows[] = {{kept_end::head, "head"}, {kept_end::tail, "tail"}};
};

/// What public records are good for.
enum class public_use { warm_start, radii, choose };
template <>
struct names<public_use> {
    static constexpr auto what = "use of public records";
    static constexpr named_value<public_use> rows[] = {
        {public_use::warm_start, "warm_start"}, {public_use::radii, "radii"}, {public_use::choose, "choose"}};
};

/// What is clipped as one: each adapter, all A matrices and all B matrices, or the whole gradient.
enum class clip_grouping { adapters, factors, flat };
template <>
struct names<clip_grouping> {
    static constexpr auto what = "kind of clip groups";
    static constexpr named_value<clip_grouping> rows[] = {
        {clip_grouping::adapters, "adapters"}, {clip_grouping::factors, "factors"}, {clip_grouping::flat, "flat"}};
};

/// How a step's noise is divided among clip groups.
enum class allocation { shares, proportional, uniform, min_variance };
template <>
struct names<allocation> {
    static constexpr auto what = "allocation of noise";
    static constexpr named_value<allocation> rows[] = {{allocation::shares, "shares"},
                                                       {allocation::proportional, "proportional"},
                                                       {allocation::uniform, "uniform"},
                                                       {allocation::min_variance, "min_variance"}};
};

/// How a privacy budget is spent (config/policies.hpp); noise.policy's word, and the ledger's.
enum class policy_kind { fixed, deck, filter, published };
template <>
struct names<policy_kind> {
    static constexpr auto what = "spending policy";
    static constexpr named_value<policy_kind> rows[] = {{policy_kind::fixed, "fixed"},
                                                        {policy_kind::deck, "deck"},
                                                        {policy_kind::filter, "filter"},
                                                        {policy_kind::published, "published"}};
};

/// How the learning rate goes on after its warm-up (run/train/rate_schedule.hpp).
enum class rate_shape { constant, linear, cosine, wsd };
template <>
struct names<rate_shape> {
    static constexpr auto what = "schedule";
    static constexpr named_value<rate_shape> rows[] = {{rate_shape::constant, "constant"},
                                                       {rate_shape::linear, "linear"},
                                                       {rate_shape::cosine, "cosine"},
                                                       {rate_shape::wsd, "wsd"}};
};

/// Which mean of the iterates is evaluated and saved (run/train/training.hpp).
enum class averaging { none, ema, tail };
template <>
struct names<averaging> {
    static constexpr auto what = "average";
    static constexpr named_value<averaging> rows[] = {
        {averaging::none, "none"}, {averaging::ema, "ema"}, {averaging::tail, "tail"}};
};

/// Who steers: the publication's controller, a policy that was prepared beforehand, or nobody, by a schedule.
enum class controller_kind { published, prepared, schedule };
template <>
struct names<controller_kind> {
    static constexpr auto what = "controller";
    static constexpr named_value<controller_kind> rows[] = {{controller_kind::published, "published"},
                                                            {controller_kind::prepared, "prepared"},
                                                            {controller_kind::schedule, "schedule"}};
};

/// What the published controller may set.
enum class controller_action { radii, noise, shares, lr };
template <>
struct names<controller_action> {
    static constexpr auto what = "action";
    static constexpr named_value<controller_action> rows[] = {{controller_action::radii, "radii"},
                                                              {controller_action::noise, "noise"},
                                                              {controller_action::shares, "shares"},
                                                              {controller_action::lr, "lr"}};
};

/// Whether a controller acts as it learned, or a control of an experiment stands in its place.
enum class controller_mode {
    learned,
    frozen,    ///< a published one acts and never learns; of a prepared one its schedule alone is left
    random,    ///< a published one acts at random; of a prepared one the direction of each move is tossed
    shuffled,  ///< a prepared one sees what a block drawn from those so far showed, its score with either sign; a
               ///< published one has none
    deaf       ///< a prepared one sets the mean of what it set in its preparation by then; a published one has none
};
template <>
struct names<controller_mode> {
    static constexpr auto what = "controller's policy";
    static constexpr named_value<controller_mode> rows[] = {{controller_mode::learned, "learned"},
                                                            {controller_mode::frozen, "frozen"},
                                                            {controller_mode::random, "random"},
                                                            {controller_mode::shuffled, "shuffled"},
                                                            {controller_mode::deaf, "deaf"}};
};

/// What the published controller's action on radii means: C = e^a, or C = median · e^a.
enum class clip_action { absolute, delta };
template <>
struct names<clip_action> {
    static constexpr auto what = "clip action";
    static constexpr named_value<clip_action> rows[] = {{clip_action::absolute, "absolute"},
                                                        {clip_action::delta, "delta"}};
};

// Accountants. Schema, maker, commands, plans and comparisons read the rows.

enum class accountant_kind { pld, rdp, gdp_clt };
template <>
struct names<accountant_kind> {
    static constexpr auto what = "accountant";
    static constexpr named_value<accountant_kind> rows[] = {
        {accountant_kind::pld, "pld"}, {accountant_kind::rdp, "rdp"}, {accountant_kind::gdp_clt, "gdp_clt"}};
};

}  // namespace rldp

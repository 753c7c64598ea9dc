// Distances and associations against values that were computed by hand.
#include "eval/tables/distributions.hpp"

#include <tuple>

#include "eval/tables/nearest.hpp"
#include "tests/catch.hpp"

using namespace rldp::eval;

namespace {

using list = std::vector<double>;

const value_column numbers{"n", value_kind::number, {}};

}  // namespace

TEST_CASE("total variation and Jensen and Shannon's divergence") {
    const list even{1, 1}, one{7, 0}, other{0, 2};
    CHECK(total_variation(even, one) == Approx(0.5));
    CHECK(total_variation(one, other) == Approx(1));
    CHECK(total_variation(even, even) == 0);
    // ½ (½ log₂ ⅔ + ½ log₂ 2) + ½ log₂ 4/3
    CHECK(jensen_shannon(even, one) == Approx(0.311278).epsilon(1e-5));
    CHECK(jensen_shannon(one, other) == Approx(1));
    CHECK(jensen_shannon(even, even) == Approx(0).margin(1e-12));
    CHECK_THROWS(total_variation(even, list{0, 0}));
}

TEST_CASE("association of numbers, of categories, and of one of each") {
    CHECK(*correlation(list{1, 2, 3, 4}, list{2, 4, 5, 4}) == Approx(3.5 / std::sqrt(5 * 4.75)));
    CHECK(*correlation(list{1, 2, missing_value, 3}, list{3, 2, 9, 1}) == Approx(-1));
    CHECK_FALSE(correlation(list{1, 1}, list{1, 2}));
    // χ² = 100 (10·40 − 20·30)² / (30·70·40·60)
    list x, y;
    for (const auto& [row, column, count] :
         {std::tuple(0, 0, 10), std::tuple(0, 1, 20), std::tuple(1, 0, 30), std::tuple(1, 1, 40)}) {
        x.insert(x.end(), static_cast<std::size_t>(count), row);
        y.insert(y.end(), static_cast<std::size_t>(count), column);
    }
    CHECK(*cramers_v(x, y) == Approx(std::sqrt(4e6 / 5.04e6 / 100)));
    CHECK(*cramers_v(list{0, 0, 1, 1, 2, 2}, list{1, 1, 0, 0, 1, 1}) == Approx(1));
    CHECK_FALSE(cramers_v(list{0, 0}, list{0, 1}));
    CHECK(*correlation_ratio(list{0, 0, 1, 1}, list{1, 2, 3, 5}) == Approx(std::sqrt(6.25 / 8.75)));
    CHECK(*correlation_ratio(list{0, 0, 1, 1}, list{1, 3, 1, 3}) == Approx(0).margin(1e-12));
    const auto all = associate({value_kind::number, value_kind::category}, {{1, 2, 3, 5}, {0, 0, 1, 1}});
    CHECK(*all[0][1] == Approx(std::sqrt(6.25 / 8.75)));
    CHECK(all[1][0] == all[0][1]);
    CHECK_FALSE(all[0][0]);
}

TEST_CASE("values are counted by themselves, by quantiles or by the commonest words") {
    const value_bins few(numbers, {3, 1, 1, missing_value}, 5);
    CHECK(few.size() == 4);
    CHECK(few.count(list{1, 3, 2, missing_value, 1}) == list{2, 1, 1, 1});
    CHECK(few.name(0) == "1");
    CHECK(few.name(2) == "others");
    list hundred;
    for (int i = 1; i <= 100; ++i) hundred.push_back(i);
    const value_bins quarters(numbers, hundred, 4);
    CHECK(quarters.count(hundred) == list{25, 25, 25, 25, 0, 0});
    CHECK(quarters.find(0.5) == 4);  // beyond all that was seen
    CHECK(quarters.find(101) == 4);
    CHECK(quarters.find(25.5) == 1);
    const value_column words{"c", value_kind::category, {"rare", "often", "some"}};
    const value_bins common(words, {1, 1, 1, 2, 2, 0}, 2);
    CHECK(common.count(list{0, 1, 2, missing_value}) == list{1, 1, 1, 1});
    CHECK(common.name(0) == "often");
    CHECK(common.find(0) == 2);
}

TEST_CASE("texts lie apart by their runs of words") {
    CHECK(words_of_text("A visit, at 9h—Ärger.") == std::vector<std::string>{"a", "visit", "at", "9h—Ärger"});
    const std::string ab = "a b", ac = "A c!", abc = "a b c";
    const std::vector<const std::string*> first{&ab}, second{&ac}, third{&abc};
    CHECK(*gram_distance(first, second, 1) == Approx(0.5));
    CHECK(*gram_distance(first, second, 2) == Approx(1));
    CHECK(*gram_distance(first, third, 2) == Approx(0.5));
    CHECK_FALSE(gram_distance(first, third, 3));
}

TEST_CASE("the nearest row, by Gower's distance") {
    const std::vector<value_column> columns{
        numbers, {"c", value_kind::category, {"x", "y"}}, {"t", value_kind::text, {"red car", "a red car", "boat"}}};
    const row_distance distance(columns, {10, 0, 0});
    const value_table from{{0, missing_value}, {0, 1}, {0, 2}};
    const value_table to{{5, 100, missing_value}, {0, 0, 1}, {1, 0, 2}};
    const auto a = distance.lay_out(from, {0, 1}), b = distance.lay_out(to, {0, 1, 2});
    const auto found = find_nearest(distance, a, b, 2);
    CHECK(found[0].distance == Approx((0.5 + 0 + 1.0 / 3) / 3));
    CHECK(found[1].distance == 0);  // both miss the number
    CHECK(find_nearest(distance, a, distance.lay_out(to, {1}), 1)[0].distance ==
          Approx(1.0 / 3));  // beyond the range counts one column
    const auto apart = find_nearest(distance, a, distance.lay_out(to, {0}), 1);
    CHECK(apart[0].distance == Approx((0.5 + 0 + 1.0 / 3) / 3));
    CHECK(apart[1].distance == Approx(1));
    const auto ties = find_nearest(distance, a, distance.lay_out(to, {0, 0, 1}), 1, 0, true);
    CHECK(ties[0].which == std::vector<std::size_t>{2});
    CHECK(find_nearest(distance, a, distance.lay_out(to, {0, 0}), 1, 0, true)[0].which ==
          std::vector<std::size_t>{0, 1});
}

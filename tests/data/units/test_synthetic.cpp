#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "data/sources/narrative.hpp"
#include "data/sources/synthetic.hpp"
#include "tests/catch.hpp"
#include "tests/support/corpus.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::data;

namespace {

std::map<std::string_view, double> shares(const table& rows, std::string_view column) {
    std::map<std::string_view, double> out;
    for (std::size_t r = 0; r < rows.rows(); ++r)
        out[rows.cell(r, *rows.find(column))] += 1 / static_cast<double>(rows.rows());
    return out;
}

/// Pearson's correlation of two numeric columns.
double correlation(const table& rows, std::string_view a, std::string_view b) {
    double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (std::size_t r = 0; r < rows.rows(); ++r) {
        const double u = std::stod(std::string(rows.cell(r, *rows.find(a))));
        const double v = std::stod(std::string(rows.cell(r, *rows.find(b))));
        ++n, x += u, y += v, xx += u * u, yy += v * v, xy += u * v;
    }
    return (xy - x * y / n) / std::sqrt((xx - x * x / n) * (yy - y * y / n));
}

}  // namespace

TEST_CASE("the synthetic table has the schema that the UCI template needs") {
    const auto rows = synthetic_table({3000});
    CHECK(rows.columns().size() == 50);
    CHECK(rows.rows() == 3000);
    const auto how = read_template("config/narrative-uci.json");
    const auto codes = synthetic_code_book();
    const row_renderer narrate(how, rows, &codes);
    for (std::size_t r = 0; r < rows.rows(); ++r) CHECK(narrate(r).size() > 1500);
    for (const auto& name : rows.columns())
        CHECK((how.columns.contains(name) || name == how.record || name == how.person));
    std::set<std::string_view> encounters, patients;
    for (std::size_t r = 0; r < rows.rows(); ++r) {
        encounters.insert(rows.cell(r, 0));
        patients.insert(rows.cell(r, 1));
    }
    CHECK(encounters.size() == 3000);
    CHECK(patients.size() > 2000);
    CHECK(patients.size() < 2200);
}

TEST_CASE("the synthetic table is a prefix of an endless one that the seed names") {
    const auto small = synthetic_table({50}), large = synthetic_table({200}), other = synthetic_table({50}, 2);
    bool differs = false;
    for (std::size_t r = 0; r < 50; ++r)
        for (std::size_t c = 0; c < 50; ++c) {
            REQUIRE(small.cell(r, c) == large.cell(r, c));
            differs = differs || small.cell(r, c) != other.cell(r, c);
        }
    CHECK(differs);
}

TEST_CASE("synthetic distributions look like the UCI table's") {
    const auto rows = synthetic_table({20'000});
    CHECK(shares(rows, "race")["Caucasian"] == Approx(.748).margin(.015));
    CHECK(shares(rows, "weight")["?"] == Approx(.969).margin(.01));
    CHECK(shares(rows, "payer_code")["?"] == Approx(.396).margin(.02));
    CHECK(shares(rows, "insulin")["No"] == Approx(.466).margin(.03));
    CHECK(shares(rows, "change")["Ch"] == Approx(.46).margin(.05));
    CHECK(shares(rows, "diabetesMed")["Yes"] == Approx(.77).margin(.04));
    CHECK(shares(rows, "readmitted")["NO"] == Approx(.539).margin(.05));
    CHECK(shares(rows, "readmitted")["<30"] == Approx(.112).margin(.03));
    CHECK(shares(rows, "number_inpatient")["0"] == Approx(.665).margin(.04));
    CHECK(shares(rows, "number_diagnoses")["9"] == Approx(.486).margin(.08));
    CHECK(shares(rows, "examide").size() == 1);
    CHECK(correlation(rows, "time_in_hospital", "num_medications") > .3);
    CHECK(correlation(rows, "time_in_hospital", "num_lab_procedures") > .2);
    CHECK(std::abs(correlation(rows, "encounter_id", "num_medications")) < .03);
}

TEST_CASE("synthetic:N loads like any table, and only N from 1 to 1e6") {
    source from{"synthetic:400", {}, "config/narrative-uci.json", {}};
    const auto found = load_corpus(from, split_rule{});
    CHECK(found.train.size() + found.eval.size() + found.attack.size() == 400);
    REQUIRE(found.warnings.size() == 1);
    CHECK(has(found.warnings[0], "\"patient_nbr\" may repeat"));
    for (const std::string n : {"0", "-1", "1000001", "", "5x", "1e3", " 5", "99999999999999999999"}) {
        from.path = "synthetic:" + n;
        CHECK(has(refusal([&] { load_corpus(from, split_rule{}); }), "must be an integer from 1 to 1000000"));
    }
    CHECK(parse_synthetic("synthetic:1000000")->encounters == 1'000'000);
    CHECK_FALSE(parse_synthetic("synthetic.csv"));
    CHECK(parse_synthetic("synthetic:9")->world == 0);
    CHECK(parse_synthetic("synthetic:9@17")->world == 17);
    for (const std::string world : {"", "-1", "1000001", "x", "1@2"})
        CHECK(has(refusal([&] { parse_synthetic("synthetic:9@" + world); }),
                  "an integer from 0 to 1000000, the world's"));
    CHECK(has(refusal([&] { parse_synthetic("synthetic:@3"); }), "the number of encounters must be"));
    from = {"synthetic:10", {}, {}, {}};
    CHECK(has(refusal([&] { load_corpus(from, split_rule{}); }), "synthetic:10: a table needs data.template"));
}

TEST_CASE("worlds hold the same values, with other frequencies and ties, each its own") {
    const auto known = synthetic_table({20'000}), same = synthetic_table({20'000, 0}),
               one = synthetic_table({20'000, 1}), again = synthetic_table({20'000, 1}),
               two = synthetic_table({20'000, 2});
    for (std::size_t r = 0; r < known.rows(); r += 97)
        for (std::size_t c = 0; c < known.columns().size(); ++c) {
            REQUIRE(known.cell(r, c) == same.cell(r, c));
            REQUIRE(one.cell(r, c) == again.cell(r, c));
        }
    const std::array<const table*, 3> worlds{&known, &one, &two};
    for (const auto* a : worlds)
        for (const auto* b : worlds) {
            if (a == b) continue;
            for (const char* column : {"race", "age", "diag_1", "insulin", "readmitted", "number_inpatient"}) {
                const auto left = shares(*a, column), right = shares(*b, column);
                double distance = 0;  // total variation
                for (const auto& [value, share] : left)
                    distance += std::abs(share - (right.contains(value) ? right.at(value) : 0)) / 2;
                INFO(column);
                CHECK(distance > .01);  // 20,000 records of one world are within .01 of each other's
            }
        }
    std::vector<std::size_t> most;  // the most frequent first diagnosis, as it comes in the published order
    for (std::uint64_t world = 0; world < 6; ++world) {
        const auto found = shares(synthetic_table({4000, world}), "diag_1");
        CHECK(found.size() <= 20);
        most.push_back(static_cast<std::size_t>(std::distance(
            found.begin(), std::max_element(found.begin(), found.end(),
                                            [](const auto& a, const auto& b) { return a.second < b.second; }))));
    }
    CHECK(std::set(most.begin(), most.end()).size() >= 3);
    const auto codes = synthetic_code_book();
    const auto how = read_template("config/narrative-uci.json");
    const row_renderer narrate(how, two, &codes);
    for (std::size_t r = 0; r < two.rows(); r += 13) CHECK(narrate(r).size() > 1500);
}

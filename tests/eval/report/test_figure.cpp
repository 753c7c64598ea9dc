#include <algorithm>
#include <cmath>
#include <set>

#include "eval/report/page.hpp"
#include "run/artifacts/formatting.hpp"
#include "tests/catch.hpp"
#include "tests/eval/sample.hpp"

using namespace rldp::eval;

namespace {

figure line_chart(const std::string& id) {
    figure chart;
    chart.id = id;
    chart.title = "A chart";
    chart.x_label = "step";
    chart.y_label = "it's <y> & \"z\"";
    chart.x_range = {0, 10};
    chart.lines = {{"label", mark::line, "#2f7ed8", {{0, 1}, {4, NAN}, {5, 3}, {10, 2}}},
                   {"", mark::dots, "#2f7ed8", {{0, 1}, {10, 2}}}};
    return chart;
}

std::set<std::string> list_ids(const std::string& svg) {
    std::set<std::string> ids;
    for (const std::string start : {" id=\"", " id='"})
        for (auto at = svg.find(start); at != std::string::npos; at = svg.find(start, at + 1)) {
            const auto begin = at + start.size();
            ids.insert(svg.substr(begin, svg.find_first_of("\"'", begin) - begin));
        }
    return ids;
}

const figure& drawing(const std::vector<captioned>& all, std::string_view id) {
    for (const auto& one : all)
        if (one.drawing.id == id) return one.drawing;
    throw std::runtime_error("no figure " + std::string(id));
}

}  // namespace

TEST_CASE("a chart is inline SVG in the page's colour, with ids of its own") {
    const auto first = draw(line_chart("first")), second = draw(line_chart("second"));
    if (!first) {
        WARN("skipped: gnuplot is not installed");
        return;
    }
    CHECK(first->rfind("<svg role=\"img\"", 0) == 0);
    CHECK(first->find("<?xml") == std::string::npos);
    CHECK(first->find("<title>") == std::string::npos);
    CHECK(first->find("\"black\"") == std::string::npos);
    CHECK(first->find("'black'") == std::string::npos);
    CHECK(first->find(">label<") != std::string::npos);
    CHECK(first->find("it's &lt;y") != std::string::npos);
    CHECK(first->find("http-equiv") == std::string::npos);
    const auto ids = list_ids(*first);
    CHECK(ids.size() > 3);
    for (const auto& id : ids) CHECK(id.rfind("first_", 0) == 0);
    for (const auto& id : list_ids(*second)) CHECK(ids.count(id) == 0);
    // every reference has its target
    for (auto at = first->find("href='#"); at != std::string::npos; at = first->find("href='#", at + 1)) {
        const auto begin = at + 7;
        CHECK(ids.count(first->substr(begin, first->find('\'', begin) - begin)) == 1);
    }
}

TEST_CASE("few points that were measured are marked, a single one is seen however it is drawn, and gaps stay gaps") {
    const auto marks = [](mark how, const curve& points) {
        auto chart = line_chart("marks");
        chart.lines = {{"", how, "#2f7ed8", points}};
        const auto svg = draw(chart).value_or("");
        const std::string dot = "href='#marks_gpPt6'";  // gnuplot's seventh point: a filled circle
        std::size_t out = 0;
        for (auto at = svg.find(dot); at != std::string::npos; at = svg.find(dot, at + 1)) ++out;
        return out;
    };
    if (!draw(line_chart("any"))) {
        WARN("skipped: gnuplot is not installed");
        return;
    }
    curve many;
    for (int i = 0; i <= 60; ++i) many.emplace_back(i / 6.0, i % 7);
    for (const auto how : {mark::marked_line, mark::marked_dashed}) {
        CHECK(marks(how, {{0, 1}, {5, NAN}, {5, 3}, {10, 2}}) == 3);
        CHECK(marks(how, many) == 0);
    }
    for (const auto how : {mark::line, mark::dashed, mark::steps, mark::thin_steps}) {
        CHECK(marks(how, {{0, 1}, {10, 2}}) == 0);
        CHECK(marks(how, {{5, 2}}) == 1);
    }
    auto chart = line_chart("gap");
    chart.lines = {{"", mark::line, "#123456", {{1, 1}, {1, 3}, {1, NAN}, {5, 1}, {5, 2}}}};
    const auto svg = *draw(chart);
    const auto path = svg.substr(svg.find("'rgb( 18,  52,  86)'"));
    CHECK(std::count(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(path.find("/>")), 'M') == 2);
}

TEST_CASE("a look's interval is drawn where the look is, and nowhere between looks") {
    std::vector<metrics_line> metrics(2);
    for (std::size_t i = 0; i < 2; ++i) {
        metrics[i].step = static_cast<std::int64_t>(10 * i);
        metrics[i].eval_perplexity = 5;
        metrics[i].eval_perplexity_in = {4, 6};
    }
    const auto all = report_figures(sample_summary(), metrics);
    const auto& lines = drawing(all, "perplexity").lines;
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].how == mark::marked_line);
    REQUIRE(lines[1].points.size() == 6);
    CHECK(lines[1].points[0] == std::pair<double, double>{0, 4});
    CHECK(lines[1].points[1] == std::pair<double, double>{0, 6});
    CHECK(std::isnan(lines[1].points[2].second));
    CHECK(lines[1].points[3] == std::pair<double, double>{10, 4});
}

TEST_CASE("the report's figures show what the metrics hold") {
    const auto all = report_figures(sample_summary(), sample_metrics());
    REQUIRE(all.size() == 6);
    for (const auto& one : all) {
        CHECK_FALSE(one.empty());
        CHECK(one.drawing.x_range == std::pair<double, double>{0, 120});
    }
    CHECK(drawing(all, "perplexity").lines[0].points.size() == 5);
    // interval means: ten steps from 1 to 10 have the mean loss 3 - 0.055
    const auto& means = drawing(all, "loss").lines[1];
    CHECK(means.points.size() == 12);
    CHECK(means.points[0].first == Approx(5.5));
    CHECK(means.points[0].second == Approx(2.945));
    // two adapters and their mean; a dial's curve holds its changes only
    const auto& radii = drawing(all, "radii").lines;
    REQUIRE(radii.size() == 3);
    CHECK(radii[2].label == "mean");
    CHECK(radii[1].points.size() == 3);
    CHECK(radii[1].points[1] == std::pair<double, double>{60, 0.2 + 0.1});
    CHECK(radii[2].points[1].second == Approx(0.2));
    CHECK(drawing(all, "noise").lines[0].points == curve{{1, 0.5}, {60, 1}, {120, 1}});
    // 59 steps at 0.5, then 61 at 1: each level ends at 0 left
    const auto& deck = drawing(all, "deck").lines;
    REQUIRE(deck.size() == 2);
    CHECK(deck[0].points.front() == std::pair<double, double>{0, 59});
    CHECK(deck[0].points.back() == std::pair<double, double>{120, 0});
    CHECK(deck[1].points[1] == std::pair<double, double>{59, 61});
    CHECK(deck[1].points.back() == std::pair<double, double>{120, 0});
    auto without = sample_summary();
    without.deck.clear();
    CHECK(report_figures(without, sample_metrics()).size() == 5);
    // progress against what is guaranteed
    const auto& epsilon = drawing(all, "epsilon").lines;
    REQUIRE(epsilon.size() == 3);
    CHECK(epsilon[0].points.back().second == Approx(7.2));
    CHECK(epsilon[1].label == "guaranteed");
    CHECK(epsilon[1].points[1] == std::pair<double, double>{120, 7.875});
}

TEST_CASE("without a guarantee no figure draws one") {
    auto summary = sample_summary();
    const auto draws_guarantee = [&] {
        const auto all = report_figures(summary, sample_metrics());
        for (const auto& line : drawing(all, "epsilon").lines)
            if (line.label == "guaranteed") return true;
        return false;
    };
    CHECK(draws_guarantee());
    summary.insecure_reproducible = true;
    CHECK_FALSE(draws_guarantee());
    summary.insecure_reproducible = false;
    summary.semantics = rldp::semantics::as_published;
    CHECK_FALSE(draws_guarantee());
    summary.semantics = rldp::semantics::sound;
    summary.epsilon_guaranteed = INFINITY;
    CHECK_FALSE(draws_guarantee());
}

TEST_CASE("a long run is thinned, and outliers do not set the frame") {
    std::vector<metrics_line> metrics;
    for (int step = 1; step <= 13738; ++step) {
        metrics_line line;
        line.step = step;
        line.loss_released = step % 1000 == 0 ? 1e6 : 2 + 0.1 * (step % 2);
        line.noise_multiplier = 1;
        line.radii = {0.1};
        line.progress = {1e-4 * step, step};
        metrics.push_back(line);
    }
    metrics[2].loss_released.reset();
    metrics[3].loss_released = NAN;
    const auto all = report_figures(sample_summary(), metrics);
    const auto& loss = drawing(all, "loss");
    CHECK(loss.lines[0].points.size() == 1500);
    CHECK(loss.lines[1].points.size() <= 41);
    CHECK(drawing(all, "epsilon").lines[0].points.size() == 500);
    CHECK(drawing(all, "epsilon").lines[0].points.back().first == 13738);
    CHECK(drawing(all, "radii").lines[0].points.size() == 2);
}

TEST_CASE("numbers and text are fit for a page") {
    CHECK(escaped("<a href=\"x\">&'") == "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
    CHECK(readable(7.99934) == "7.999");
    CHECK(readable(1e-5) == "1×10<sup>−5</sup>");
    CHECK(readable(-0.5) == "−0.5");
    CHECK(readable(INFINITY) == "∞");
    CHECK(readable(NAN) == "not a number");
    CHECK(readable(std::int64_t{73271}) == "73\u202f271");
    CHECK(readable(std::int64_t{100}) == "100");
    CHECK(readable(std::int64_t{-100}) == "-100");
    CHECK(readable(std::int64_t{1234567}) == "1\u202f234\u202f567");
}

#include "eval/tables/report/report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "eval/report/page.hpp"
#include "eval/tables/report/pictures.hpp"
#include "run/artifacts/formatting.hpp"
#include "run/artifacts/json_number.hpp"

namespace rldp::eval {

namespace {

std::string decimal(double value, int digits = 3) {
    return fmt::format("{:.{}f}", value, digits);
}

std::string percent(double share) {
    return fmt::format("{:.1f} %", 100 * share);
}

std::string percent(std::size_t count, std::size_t of) {
    return of == 0 ? "–" : percent(static_cast<double>(count) / static_cast<double>(of));
}

std::string percent(const std::optional<proportion>& of) {
    return of ? fmt::format("{} ({:.1f}–{:.1f})", percent(of->rate()), 100 * of->low, 100 * of->high) : "–";
}

std::string with_interval(const measured_auc& of) {
    return fmt::format("{:.3f} ({:.3f}–{:.3f})", of.auc, of.low, of.high);
}

std::string count(std::size_t of) {
    return readable(static_cast<std::int64_t>(of));
}

/// Of the columns that are not text.
std::optional<beside_real> mean_variation(const table_judgement& of) {
    beside_real out;
    double columns = 0;
    for (const auto& one : of.columns) {
        if (!one.variation) continue;
        out.made_up += one.variation->made_up;
        out.real += one.variation->real;
        ++columns;
    }
    if (columns == 0) return std::nullopt;
    return beside_real{out.made_up / columns, out.real / columns};
}

/// The classifier that tells most when it is trained on real rows.
const classifier_quality* find_best(const std::optional<target_quality>& of) {
    if (!of || of->classifiers.empty()) return nullptr;
    return &*std::max_element(of->classifiers.begin(), of->classifiers.end(),
                              [](const auto& a, const auto& b) { return a.real.auc < b.real.auc; });
}

std::size_t count_broken(const std::vector<rule_quality>& rules) {
    return static_cast<std::size_t>(
        std::count_if(rules.begin(), rules.end(), [](const auto& one) { return one.made_up.broken > 0; }));
}

}  // namespace

std::string table_verdict(const table_report& report) {
    const auto& of = report.found.membership;
    const auto* unit = report.groups ? "persons or groups" : "records";
    switch (judge_membership(of)) {
        case membership_verdict::too_few:
            return fmt::format("Membership can't be judged: it takes 30 {} on each side, and here are {} and {}.", unit,
                               of.members, of.others);
        case membership_verdict::beyond_chance:
            return fmt::format(
                "The table gives away who was in training: made-up rows lie nearer to {} that were than to others. AUC "
                "{}, beyond the 0.5 of chance.",
                unit, with_interval(*of.attack));
        case membership_verdict::within_chance:
            return fmt::format(
                "This attack does not tell {} that were in training from others better than chance: AUC {}. Other "
                "attacks may; what holds against all is the run's contract.",
                unit, with_interval(*of.attack));
    }
    return {};
}

// synthetic.json.

namespace {

using json = nlohmann::ordered_json;

json as_json(const beside_real& of) {
    return {{"made_up", of.made_up}, {"real", of.real}};
}

json as_json(const std::optional<beside_real>& of) {
    return of ? as_json(*of) : json(nullptr);
}

json as_json(const std::optional<proportion>& of) {
    if (!of) return nullptr;
    return {{"count", of->count}, {"total", of->total}, {"rate", of->rate()}, {"interval", {of->low, of->high}}};
}

json as_json(const std::optional<measured_auc>& of) {
    if (!of) return nullptr;
    return {{"auc", of->auc}, {"interval", {of->low, of->high}}};
}

json as_json(const association& of) {
    json out = json::array();
    for (const auto& row : of) {
        json values = json::array();
        for (const auto& value : row) values.push_back(value ? json(*value) : json(nullptr));
        out.push_back(std::move(values));
    }
    return out;
}

json quality_json(const table_judgement& of) {
    json columns = json::array(), texts = json::array(), rules = json::array(), names = json::array();
    for (const auto& one : of.columns)
        columns.push_back({{"column", one.name},
                           {"total_variation", as_json(one.variation)},
                           {"jensen_shannon_bits", as_json(one.divergence)},
                           {"missing", as_json(one.missing)}});
    for (const auto& one : of.texts) {
        json grams = json::array();
        for (const auto& gram : one.grams) grams.push_back(as_json(gram));
        texts.push_back({{"column", one.name},
                         {"median_characters", as_json(beside_real{one.made_up.median, one.real.median})},
                         {"longest_of_19_in_20", as_json(beside_real{one.made_up.most_of_all, one.real.most_of_all})},
                         {"grams_total_variation", std::move(grams)},
                         {"in_training", as_json(one.known)}});
    }
    for (const auto& one : of.rules)
        rules.push_back({{"rule", one.rule},
                         {"made_up", {{"asked", one.made_up.asked}, {"broken", one.made_up.broken}}},
                         {"real", {{"asked", one.real.asked}, {"broken", one.real.broken}}}});
    for (const auto c : of.pairs.columns) names.push_back(of.columns[c].name);
    json target = nullptr;
    if (of.target) {
        target = {{"column", of.target->name},         {"classes", of.target->classes},
                  {"rows", of.target->rows},           {"held_out", of.target->held_out},
                  {"commonest", of.target->commonest}, {"classifiers", json::array()}};
        const auto score = [](const classifier_quality::score& one) {
            return json{{"auc", json_number(one.auc)}, {"accuracy", one.accuracy}, {"interval", as_json(one.interval)}};
        };
        for (const auto& one : of.target->classifiers)
            target["classifiers"].push_back(
                {{"name", one.name}, {"made_up", score(one.made_up)}, {"real", score(one.real)}});
    }
    return {{"rows", of.rows},
            {"held_out", of.held_out},
            {"columns", std::move(columns)},
            {"pairs",
             {{"columns", std::move(names)},
              {"real", as_json(of.pairs.real)},
              {"made_up", as_json(of.pairs.made_up)},
              {"mean_difference", as_json(of.pairs.difference)}}},
            {"target", std::move(target)},
            {"rules", std::move(rules)},
            {"unique", {{"of", of.unique_of}, {"share", as_json(of.unique)}}},
            {"texts", std::move(texts)}};
}

json privacy_json(const table_judgement& of) {
    json inference = json::array();
    for (const auto& one : of.inference)
        inference.push_back({{"column", one.name},
                             {"members", one.members},
                             {"others", one.others},
                             {"members_by_table", one.members_by_table},
                             {"others_by_table", one.others_by_table},
                             {"members_by_held_out", one.members_by_others},
                             {"difference_interval", {one.low, one.high}}});
    json secrets = nullptr;
    if (of.secrets)
        secrets = {{"planted", of.secrets->planted},
                   {"found", of.secrets->found},
                   {"made_up", of.secrets->made_up},
                   {"made_up_found", of.secrets->made_up_found}};
    const auto& same = of.identical;
    return {
        {"identical",
         {{"training", {{"rows", same.training}, {"found", same.training_found}}},
          {"held_out", {{"rows", same.held_out}, {"found", same.held_out_found}}},
          {"made_up",
           {{"rows", same.made_up}, {"in_training", same.made_up_in_training}, {"held_out", same.made_up_held_out}}}}},
        {"near",
         {{"within", of.near.near},
          {"training", as_json(of.near.training_near)},
          {"held_out", as_json(of.near.held_out_near)},
          {"compared", of.near.compared},
          {"median_to_training", of.near.to_training},
          {"median_to_held_out", of.near.to_held_out},
          {"nearer_to_training", of.near.nearer_to_training}}},
        {"membership",
         {{"members", of.membership.members},
          {"others", of.membership.others},
          {"attack", as_json(of.membership.attack)},
          {"tpr_at_0.01", as_json(of.membership.at_percent)}}},
        {"inference", std::move(inference)},
        {"secrets", std::move(secrets)}};
}

}  // namespace

std::string table_json(const table_report& report) {
    return json{{"run", report.run},
                {"table", report.table},
                {"claimed_epsilon", json_number(report.claimed_epsilon)},
                {"delta", report.delta},
                {"rows",
                 {{"made_up", report.made_up_rows},
                  {"training", report.training_rows},
                  {"held_out", report.held_out_rows}}},
                {"units", {{"training", report.training_units}, {"held_out", report.held_out_units}}},
                {"verdict", table_verdict(report)},
                {"quality", quality_json(report.found)},
                {"privacy", privacy_json(report.found)},
                {"left_out", report.found.left_out},
                {"seconds", report.seconds}}
               .dump(2) +
           "\n";
}

std::string table_summary(const table_report& report) {
    const auto& of = report.found;
    std::vector<std::vector<std::string>> rows = {{"", "made-up rows", "real rows"}};
    if (const auto columns = mean_variation(of))
        rows.push_back({"columns, mean total variation", decimal(columns->made_up), decimal(columns->real)});
    if (of.pairs.columns.size() > 1)
        rows.push_back({"pairs, mean difference of association", decimal(of.pairs.difference.made_up),
                        decimal(of.pairs.difference.real)});
    if (const auto* best = find_best(of.target))
        rows.push_back({fmt::format("{} trained on, AUC for {}", best->name, of.target->name),
                        decimal(best->made_up.auc), decimal(best->real.auc)});
    auto out = rows.size() > 1 ? text_table(rows) : std::string();  // a schema without types has nothing to measure
    if (!of.rules.empty())
        out += fmt::format("rules broken by made-up rows: {} of {}\n", count_broken(of.rules), of.rules.size());
    if (of.secrets)
        out += fmt::format("planted secrets in the table: {} of {}\n", of.secrets->found, of.secrets->planted);
    out += table_verdict(report) + "\n";
    for (const auto& line : of.left_out) out += "left out: " + line + "\n";
    return out;
}

// synthetic.html, in the look of the run's report.

namespace {

using html_rows = std::vector<std::vector<std::string>>;

std::string paragraph(const std::string& text) {
    return "<p>" + escaped(text) + "</p>\n";
}

std::string card(const std::string& value, const std::string& what) {
    return fmt::format("<div class=\"card\"><b>{}</b><span>{}</span></div>\n", escaped(value), escaped(what));
}

std::string cards(const table_report& report) {
    const auto& of = report.found;
    auto out = std::string("<div class=\"cards\">\n");
    if (of.membership.attack)
        out += card(decimal(of.membership.attack->auc),
                    fmt::format("membership AUC, {:.3f} to {:.3f}; 0.5 is chance", of.membership.attack->low,
                                of.membership.attack->high));
    if (const auto columns = mean_variation(of))
        out += card(decimal(columns->made_up),
                    fmt::format("mean total variation of columns; real rows {}", decimal(columns->real)));
    if (of.pairs.columns.size() > 1)
        out += card(decimal(of.pairs.difference.made_up),
                    fmt::format("mean difference of pairs; real rows {}", decimal(of.pairs.difference.real)));
    if (const auto* best = find_best(of.target))
        out += card(decimal(best->made_up.auc),
                    fmt::format("AUC for {}, {}; real rows {}", of.target->name, best->name, decimal(best->real.auc)));
    if (!of.rules.empty())
        out += card(fmt::format("{} of {}", count_broken(of.rules), of.rules.size()), "rules that made-up rows break");
    if (of.secrets)
        out += card(fmt::format("{} of {}", of.secrets->found, of.secrets->planted), "planted secrets in the table");
    return out + "</div>\n";
}

std::string columns_section(const table_judgement& of) {
    html_rows rows;
    std::vector<const column_quality*> drawn;
    for (const auto& one : of.columns) {
        const auto cell = [](const std::optional<beside_real>& value, double beside_real::*which) {
            return value ? decimal((*value).*which) : std::string("–");
        };
        rows.push_back({escaped(shown_text(one.name)), cell(one.variation, &beside_real::made_up),
                        cell(one.variation, &beside_real::real), cell(one.divergence, &beside_real::made_up),
                        cell(one.divergence, &beside_real::real), percent(one.missing.made_up),
                        percent(one.missing.real)});
        if (one.variation) drawn.push_back(&one);
    }
    auto out =
        "<h2>Columns</h2>\n" +
        html_table(
            "", {"column", "total variation", "real rows", "Jensen–Shannon, bits", "real rows", "missing", "real rows"},
            rows) +
        paragraph(
            "How far a column's values lie from those of held-out rows: 0 is alike, 1 has nothing in common. "
            "\"Real rows\" is what as many training rows reach: chance alone. Numbers are counted in 20 bins, "
            "texts below.");
    std::stable_sort(drawn.begin(), drawn.end(),
                     [](const auto* a, const auto* b) { return a->variation->made_up > b->variation->made_up; });
    constexpr std::size_t most_drawn = 6;
    drawn.resize(std::min(drawn.size(), most_drawn));
    if (drawn.empty()) return out;
    out += fmt::format(
        "<h3>The {} farthest off</h3>\n<p class=\"sub\">Percent of rows: <span style=\"color:#2f7ed8\">■</span> "
        "held-out | <span style=\"color:#d9822b\">■</span> made-up.</p>\n<div class=\"figures\">\n",
        drawn.size());
    for (std::size_t i = 0; i < drawn.size(); ++i)
        out += bars(std::string("column") + static_cast<char>('a' + i), *drawn[i]);
    return out + "</div>\n";
}

std::string pairs_section(const table_judgement& of) {
    const auto& [which, real, made_up, difference] = of.pairs;
    if (which.size() < 2) return {};
    std::vector<std::string> names;
    for (const auto c : which) names.push_back(of.columns[c].name);
    auto off = made_up;
    for (std::size_t i = 0; i < off.size(); ++i)
        for (std::size_t j = 0; j < off.size(); ++j) {
            const bool any = real[i][j] || made_up[i][j];
            off[i][j] = any ? std::optional(made_up[i][j].value_or(0) - real[i][j].value_or(0)) : std::nullopt;
        }
    const auto told_apart = static_cast<std::size_t>(
        std::count_if(of.columns.begin(), of.columns.end(), [](const auto& one) { return one.variation.has_value(); }));
    return "<h2>Pairs of columns</h2>\n<div class=\"figures\" "
           "style=\"grid-template-columns:repeat(auto-fill,minmax(min(18.5rem,100%),1fr))\">\n" +
           heat_map("pairsreal", "Held-out rows", names, real) +
           heat_map("pairsmadeup", "Made-up rows", names, made_up) +
           heat_map("pairsdifference", "Made-up minus held-out", names, off) + "</div>\n" +
           paragraph(
               fmt::format("Correlation of two numbers, Cramér's V of two categories, the correlation ratio of one of "
                           "each; blue above 0, orange below. The mean difference is {}; real rows have {}.{}",
                           decimal(difference.made_up), decimal(difference.real),
                           told_apart > which.size() ? fmt::format(" The first {} columns.", which.size()) : ""));
}

std::string target_section(const std::optional<target_quality>& of) {
    if (!of) return {};
    html_rows rows;
    const auto add = [&](const std::string& name, const std::string& by, const classifier_quality::score& score) {
        rows.push_back(
            {name, by, score.interval ? with_interval(*score.interval) : decimal(score.auc), percent(score.accuracy)});
    };
    for (const auto& one : of->classifiers) {
        add(escaped(one.name), "made-up rows", one.made_up);
        add(escaped(one.name), "real rows", one.real);
    }
    std::string classes;
    for (const auto& one : of->classes) classes += (classes.empty() ? "" : ", ") + shown_text(one);
    return fmt::format("<h2>Telling {}</h2>\n", escaped(shown_text(of->name))) +
           html_table("", {"classifier", "trained on", "AUC", "right"}, rows, 2) +
           paragraph(fmt::format(
               "Trained on {} made-up rows or as many real ones, judged by the same {} held-out rows. Always "
               "saying the commonest value is right for {}. Classes: {}.{}",
               of->rows, of->held_out, percent(of->commonest), classes,
               of->classes.size() > 2 ? " The AUC is the mean of each class against the others." : ""));
}

std::string rules_section(const std::vector<rule_quality>& of) {
    if (of.empty()) return {};
    html_rows rows;
    for (const auto& one : of)
        rows.push_back({"<code>" + escaped(shown_text(one.rule)) + "</code>", count(one.made_up.broken),
                        count(one.made_up.asked), percent(one.made_up.broken, one.made_up.asked),
                        percent(one.real.broken, one.real.asked)});
    return "<h2>Rules</h2>\n" + html_table("", {"rule", "broken by", "of rows", "share", "real rows"}, rows) +
           paragraph("Declared in the template, counted in all rows that they say something of.");
}

std::string unique_section(const table_judgement& of) {
    return "<h2>Unique rows</h2>\n" +
           paragraph(fmt::format("Of {} made-up rows {} are like no other among them; of as many held-out rows {}.",
                                 of.unique_of, percent(of.unique.made_up), percent(of.unique.real)));
}

std::string texts_section(const std::vector<text_quality>& of) {
    if (of.empty()) return {};
    html_rows rows;
    for (const auto& one : of) {
        const auto gram = [&](std::size_t n) {
            const auto& found = one.grams[n - 1];
            return found ? fmt::format("{} | {}", decimal(found->made_up), decimal(found->real)) : std::string("–");
        };
        rows.push_back(
            {escaped(shown_text(one.name)), fmt::format("{:g} | {:g}", one.made_up.median, one.real.median),
             fmt::format("{:g} | {:g}", one.made_up.most_of_all, one.real.most_of_all), gram(1), gram(2), gram(3),
             one.known ? fmt::format("{} | {}", percent(one.known->made_up), percent(one.known->real)) : "–"});
    }
    return "<h2>Texts</h2>\n" +
           html_table("", {"column", "characters, median", "19 of 20 up to", "words", "pairs", "threes", "in training"},
                      rows) +
           paragraph(
               "Made-up | real. Words, pairs and threes of words: total variation from those of held-out rows; real is "
               "that of training rows. In training: the share of texts that some training row has word for word; real "
               "is that of held-out rows.");
}

std::string share_of(std::size_t found, std::size_t all) {
    return fmt::format("{} ({} of {})", percent(found, all), count(found), count(all));
}

std::string near_section(const table_report& report) {
    const auto& same = report.found.identical;
    const auto& near = report.found.near;
    const html_rows rows = {
        {"rows that a made-up row is identical to", share_of(same.training_found, same.training),
         share_of(same.held_out_found, same.held_out)},
        {fmt::format("{} with a made-up row within {:.3f}", report.groups ? "units" : "records", near.near),
         percent(near.training_near), percent(near.held_out_near)},
        {"made-up rows that are identical to one", share_of(same.made_up_in_training, same.made_up),
         share_of(same.made_up_held_out, same.made_up)},
        {"median distance from a made-up row to the nearest", decimal(near.to_training), decimal(near.to_held_out)}};
    return "<h2>Identical and near rows</h2>\n" + html_table("", {"", "training", "held out"}, rows) +
           paragraph(fmt::format("Read each share beside its neighbour: in a table of few values rows are alike by "
                                 "chance, and then as often "
                                 "for rows that the model never saw. Distances are Gower's, from 0 to 1; within {:.3f} "
                                 "means one whole column at "
                                 "most. Of {} made-up rows {} lie nearer to a training row than to a held-out one, of "
                                 "as many either side; 50 % "
                                 "favours nobody. No distance shows that a table is safe to share.",
                                 near.near, near.compared, percent(near.nearer_to_training)));
}

/// Outline of a histogram as shares of all values.
curve outline(const std::vector<double>& values, double top) {
    constexpr std::size_t bins = 40;
    std::vector<double> shares(bins, 0);
    for (const double value : values) {
        const auto bin = std::min(bins - 1, static_cast<std::size_t>(value / top * bins));
        shares[bin] += 1 / static_cast<double>(values.size());
    }
    curve out;
    for (std::size_t i = 0; i < bins; ++i) out.emplace_back(top * static_cast<double>(i) / bins, shares[i]);
    out.emplace_back(top, 0);
    return out;
}

std::string membership_section(const table_report& report) {
    constexpr auto blue = "#2f7ed8", orange = "#d9822b", grey = "#8a93a0";
    const auto& of = report.found.membership;
    const auto& near = report.found.near;
    if (!of.attack) return {};
    curve roc;
    for (const auto& [false_positives, true_positives] : of.curve) roc.emplace_back(false_positives, true_positives);
    captioned attack{{"roc", "Who was in training", "false positives", "true positives", {}, {0, 1}, {{0, 1}}, false},
                     "Each point is a threshold on the distance. On the diagonal the attack guesses."};
    attack.drawing.lines = {{"nearest made-up row", mark::line, blue, thinned(roc, 500)},
                            {"guessing", mark::dashed, grey, {{0, 0}, {1, 1}}}};
    double top = 0;
    for (const auto* side : {&near.training, &near.held_out})
        for (const double one : *side) top = std::max(top, one);
    top = top > 0 ? top : 1;
    captioned distances{{"nearest",
                         "Distance to the nearest made-up row",
                         "Gower's distance",
                         "share of units",
                         {},
                         {0, top},
                         {},
                         false},
                        "The less the two overlap, the more the table gives away."};
    distances.drawing.lines = {{"in training", mark::steps, blue, outline(near.training, top)},
                               {"not", mark::steps, orange, outline(near.held_out, top)}};
    return "<h2>Membership</h2>\n" +
           html_table("", {"", "by the nearest made-up row"},
                      {{"AUC, 95 %", with_interval(*of.attack)},
                       {"found at 1 % false alarms", percent(of.at_percent)},
                       {"units in training, and others", count(of.members) + ", " + count(of.others)}}) +
           figures({attack, distances}, "Their numbers are in <code>synthetic.json</code>");
}

std::string inference_section(const std::vector<attribute_inference>& of) {
    if (of.empty()) return {};
    html_rows rows;
    for (const auto& one : of)
        rows.push_back(
            {escaped(shown_text(one.name)), decimal(one.members_by_table), decimal(one.others_by_table),
             fmt::format("{:+.3f} ({:+.3f} to {:+.3f})", one.members_by_table - one.others_by_table, one.low, one.high),
             decimal(one.members_by_others)});
    return "<h2>Telling a sensitive column</h2>\n" +
           html_table("",
                      {"column", "of training units", "of units never seen", "difference, 95 %", "by held-out rows"},
                      rows) +
           paragraph(
               "Whoever knows all other columns of somebody takes the column's value from the nearest made-up row. 1 "
               "is "
               "exact: the share that is right, of numbers 1 minus the mean distance in the column's range. What the "
               "table tells as well of units that it never saw is knowledge of the population. \"By held-out rows\": "
               "the "
               "same of training units by real rows that know nothing of them.");
}

std::string secrets_section(const std::optional<secret_search>& of) {
    if (!of) return {};
    return "<h2>Planted secrets</h2>\n" +
           paragraph(fmt::format(
               "Of {} secrets that the audit planted in training records {} stand in a cell of the table. Of {} "
               "made-up ones as long, which are in no record, {} do.",
               of->planted, of->found, of->made_up, of->made_up_found));
}

}  // namespace

std::string table_html(const table_report& report) {
    const auto& of = report.found;
    const bool leaks = judge_membership(of.membership) == membership_verdict::beyond_chance;
    auto body =
        fmt::format("<header><h1>A made-up table</h1>\n<p class=\"sub\">{} · {} rows · run {}</p></header>\n",
                    escaped(shown_text(report.table)), count(report.made_up_rows), escaped(shown_text(report.run)));
    body +=
        "<p class=\"note\">This page was made from real records. It is for the owner of the data and lies on the "
        "trusted "
        "side of the run.</p>\n";
    body += fmt::format("<p class=\"note{}\">{}</p>\n", leaks ? " bad" : "", escaped(table_verdict(report)));
    body += cards(report);
    body += paragraph(fmt::format(
        "The run had {} rows of {} {} in training and kept {} rows of {} out of it. Quality is that of {} made-up rows "
        "against "
        "{} held-out ones.{}",
        count(report.training_rows), count(report.training_units), report.groups ? "persons or groups" : "units",
        count(report.held_out_rows), count(report.held_out_units), count(of.rows), count(of.held_out),
        std::isfinite(report.claimed_epsilon)
            ? fmt::format(" The run promises ε ≤ {:.2f} at δ = {:g}, and so does the table.", report.claimed_epsilon,
                          report.delta)
            : " The run promises nothing."));
    body += columns_section(of) + pairs_section(of) + target_section(of.target) + rules_section(of.rules) +
            unique_section(of) + texts_section(of.texts);
    body += near_section(report) + membership_section(report) + inference_section(of.inference) +
            secrets_section(of.secrets);
    if (!of.left_out.empty()) body += "<h2>Left out</h2>\n" + html_list(of.left_out);
    return page("A made-up table", body);
}

}  // namespace rldp::eval

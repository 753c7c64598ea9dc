#include "eval/report/certificate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "eval/report/page.hpp"
#include "run/artifacts/formatting.hpp"

namespace rldp::eval {
namespace {

using privacy::contract;

std::string code(const std::string& text) {
    return "<code>" + escaped(text) + "</code>";
}

/// 3.35, 13.5, 2 981.
std::string count(double x) {
    return x < 100    ? fmt::format("{:.3g}", x)
           : x < 1e15 ? readable(static_cast<std::int64_t>(std::llround(x)))
                      : readable(x);
}

std::string in_odds(double odds) {
    return odds >= 1 ? count(odds) + " to 1" : "1 to " + count(1 / odds);
}

/// 12 %, 99.97 %, 0.034 %: as many digits as tell it from 0 and 1.
std::string percent(double odds) {
    const double p = 100 * (odds / (1 + odds)), q = 100 / (1 + odds);
    if (q == 0 || q < 1e-4) return "all but 100 %";
    if (q < 10) return fmt::format("{:.{}f} %", p, 1 + static_cast<int>(std::max(0.0, std::ceil(-std::log10(q)))));
    return fmt::format("{:.2g} %", p);
}

std::string describe_unit(const contract& promised) {
    return promised.unit == "record" ? "record" : "group of records";
}

constexpr double weak = 4;  // ε above which the bound alone says little

std::string headline(const contract& promised) {
    if (!promised.holds())
        return "<p class=\"note bad\"><b>NO GUARANTEE.</b> This run protects no one: " +
               escaped(promised.voids.front()) + ". Nothing that it published may be treated as private.</p>\n";
    return fmt::format(
        "<p class=\"note{}\"><b>(ε, δ)-differential privacy with ε = {}, δ = {}:</b> what this run published shifts no "
        "one's odds that any one {} was in the training data by more than a factor of {}, but for a chance of 1 in "
        "{}.</p>\n",
        *promised.epsilon_guaranteed <= weak ? " good" : "", readable(*promised.epsilon_guaranteed),
        readable(promised.delta), describe_unit(promised), count(std::exp(*promised.epsilon_guaranteed)),
        count(1 / promised.delta));
}

std::string protection(const contract& promised) {
    std::string whom =
        "<b>For whom:</b> each record of the training data by itself. Someone with several records has "
        "this bound for each, not for all of them together.";
    if (promised.unit != "record")
        whom = fmt::format(
            "<b>For whom:</b> all records that share one value of {}, such as those of one person, taken "
            "together; at most {} of them were used.",
            code(promised.unit), readable(promised.max_records_per_unit.value_or(1)));
    return "<h2>What is protected</h2>" +
           html_list_of_html(
               {fmt::format("<b>What:</b> whether a {} was used at all, and hence everything that it alone says.",
                            describe_unit(promised)),
                whom,
                "<b>In what:</b> all files under <code>public/</code> together (trained weights, ledger, metrics, "
                "report), "
                "and whatever is made from them later.",
                "<b>Against whom:</b> anyone, whatever else they know, however long they compute."});
}

/// Who ran it, on what, and for which runs the promise is.
std::string circumstances(const privacy::certificate& made) {
    const auto& promised = made.promised;
    const auto runs = promised.runs > 1
                          ? fmt::format("this run and the others of its tuning, {} in all, together", promised.runs)
                          : std::string("this run alone");
    const auto book = made.in_book ? "Its owner's budget book counts it with other runs on the same data."
                                   : "No budget book counts it with other runs on the same data.";
    return "<h2>Who, on what, for how long</h2>" +
           html_list_of_html(
               {fmt::format("<b>Who:</b> {}{}.", made.run.empty() ? std::string() : "“" + escaped(made.run) + "”, ",
                            escaped(privacy::authenticity(made))),
                fmt::format("<b>On what:</b> {}{} units, {}. No digest of the records is given: it would tell whoever "
                            "has them.",
                            made.data.empty() ? std::string() : "data called " + code(made.data) + ", ",
                            readable(promised.population), privacy::describe_population(promised)),
                fmt::format("<b>For how long:</b> for good. What was published can't be made private again, nor more "
                            "private. The bound is for {}. {}",
                            runs, book)});
}

std::string in_words(double epsilon) {
    if (epsilon <= 1) return "This protects by itself: even a guess of one in two stays a guess.";
    if (epsilon <= weak)
        return "A moderate bound: what was unlikely before stays unlikely, what was suspected may be confirmed.";
    return "A weak bound taken alone: it keeps apart only what was very unlikely before. Known attacks fall far short "
           "of it, which is evidence, not proof.";
}

std::string attacks(const privacy::certificate& made) {
    if (!made.risk) return {};
    std::vector<std::vector<std::string>> rows;
    for (const auto& [wrong, right] : made.risk->best)
        rows.push_back({fmt::format("{:g}", 1000 * wrong), fmt::format("{:.4g}", std::ceil(10'000 * right) / 10)});
    const auto unit = describe_unit(made.promised) + "s";
    return html_table(fmt::format("Of 1,000 {}, an attacker who knows everything else names as used", unit),
                      {"of those not used, in error", "of those used, at most"}, rows, 0);
}

std::string strength(const privacy::certificate& made) {
    const auto& promised = made.promised;
    const double factor = std::exp(*promised.epsilon_guaranteed);
    std::vector<std::vector<std::string>> rows;
    for (const double against : {1.0, 10.0, 100.0, 10000.0}) {
        const double before = 1 / against, after = factor * before;
        rows.push_back({in_odds(before), percent(before), in_odds(after), percent(after)});
    }
    return "<h2>How strongly</h2>" +
           html_table(fmt::format("Anyone's odds that a given {} was used", describe_unit(promised)),
                      {"before", "", "after seeing everything, at most", ""}, rows, 0) +
           attacks(made) +
           fmt::format(
               "<p><b>ε = {}</b>: odds change by a factor of at most {}. <b>δ = {}</b>: a chance of 1 in {} that is "
               "set aside for the bound to fail. {}</p>\n",
               readable(*promised.epsilon_guaranteed), count(factor), readable(promised.delta),
               count(1 / promised.delta), in_words(*promised.epsilon_guaranteed));
}

std::string reasons(const contract& promised) {
    return "<h2>Why</h2>" + html_list_of_html(promised.voids);
}

std::string check(const privacy::certificate& made) {
    const auto who = made.signer
                         ? fmt::format(
                               "Signed with the key {}. Ask its owner, by another way than this page came, "
                               "whether that is theirs, and for the file with its public half.",
                               code(made.signer->fingerprint()))
                         : std::string(
                               "<b>Unsigned: detects accidents, not forgery.</b> Whoever changes all files can make a "
                               "certificate that fits them.");
    return "<h2>How to check it</h2><p>" + who + "</p>\n<pre>rldp verify DIRECTORY" +
           std::string(made.signer ? " --key OWNER.pub" : "") +
           "</pre>\n<p>DIRECTORY holds <code>public/</code>. The command recomputes every number here, compares every "
           "file with <code>certificate.json</code>, and says what it could not check: the owner's data, and that the "
           "machine really drew the noise.</p>\n";
}

std::string small_print(const contract& promised) {
    return fmt::format(
        "<p class=\"sub\">N = {} units, {}; {} drawn per step on average, {} steps; noise policy "
        "{}, accountant {}; adding or removing one unit.</p>\n",
        readable(promised.population), privacy::describe_population(promised), readable(promised.expected_batch_size),
        readable(promised.steps), escaped(promised.policy), escaped(promised.accountant));
}

}  // namespace

std::string certificate_page(const privacy::certificate& made) {
    const auto& promised = made.promised;
    auto body =
        fmt::format(
            "<header><h1>Privacy certificate</h1>\n<p class=\"sub\">of a language model's training{} by RLDP {} · "
            "{}</p></header>\n",
            made.run.empty() ? std::string() : ", “" + escaped(made.run) + "”,", escaped(made.program),
            escaped(privacy::authenticity(made))) +
        headline(promised);
    if (promised.holds())
        body += "<div class=\"pair\"><section>" + protection(promised) + "<h2>What is outside</h2>" +
                html_list_of_html(privacy::list_exceptions(promised)) + circumstances(made) + "</section>\n<section>" +
                strength(made) + check(made) + "</section></div>\n" + small_print(promised);
    else
        body += reasons(promised) + check(made);
    return one_screen("Privacy certificate", body);
}

}  // namespace rldp::eval

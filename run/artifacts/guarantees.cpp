#include "run/artifacts/guarantees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/policies.hpp"
#include "privacy/spending/certificate.hpp"
#include "run/artifacts/formatting.hpp"

namespace rldp::eval {
namespace {

std::string describe_unit(const run_summary& s) {
    if (s.unit == "record") return "one record";
    return fmt::format("all records that share one value of <code>{}</code>", escaped(s.unit));
}

void add_published(const run_summary& s, guarantees& out) {
    out.headline =
        "<b>No guarantee.</b> This run used <code>privacy.semantics: \"as_published\"</code>, a reproduction aid. No ε "
        "on this page protects anyone.";
    out.does_not.emplace_back("Raw statistics of the batches reached the controller. That alone voids every ε here.");
    if (s.tight_epsilon_as_released)
        out.does_not.emplace_back(
            fmt::format("The gradient releases taken alone, with the noise that was really added over all {} adapters, "
                        "have a tight ε of <b>{}</b> at δ = {}. The raw statistics void even that.",
                        s.groups.size(), readable(*s.tight_epsilon_as_released), readable(s.delta)));
    out.does_not.emplace_back(
        "The published noise rule adds σ·C to each adapter and charges σ once, whatever the number of adapters.");
}

void add_insecure(guarantees& out) {
    out.headline =
        "<b>No guarantee.</b> Draws, dropout and noise came from the configuration's seed "
        "(<code>noise.insecure_reproducible</code>), so anyone can compute and subtract the noise.";
    out.does_not.emplace_back("The ε on this page is what the same run with secret randomness would have cost.");
}

std::string describe_draws(const run_summary& s) {
    if (s.bands == 1)
        return fmt::format("A step draws every unit independently with probability {}; who was drawn stays secret.",
                           readable(s.sample_rate));
    return fmt::format(
        "Each unit is in one of {} groups, by a keyed hash of itself. They take turns, and a step draws the units of "
        "its group independently with probability {}; who was drawn stays secret. Noise is correlated over {} steps, "
        "and priced as such.",
        s.bands, readable(std::min(1.0, static_cast<double>(s.bands) * s.sample_rate)), s.bands);
}

void add_sound(const run_summary& s, guarantees& out) {
    if (!std::isfinite(s.epsilon_guaranteed)) {
        out.headline = "<b>No guarantee.</b> The committed ε is not finite.";
        return;
    }
    out.headline = fmt::format(
        "Everything {} published is <b>(ε, δ)-differentially private with ε = {}, δ = {}</b> for {}.",
        s.runs == 1 ? std::string("this run") : fmt::format("this run and the {} others of its tuning", s.runs - 1),
        readable(s.epsilon_guaranteed), readable(s.delta),
        s.held_out == publication::raw ? "its training units; held-out units have no protection"
                                       : privacy::protected_by(s.held_out));
    out.holds = {
        fmt::format("Whatever trained weights, ledger, metrics and this page together tell about {} "
                    "obeys the bound, when {} is added or removed.",
                    privacy::protected_by(s.held_out), describe_unit(s)),
        "The whole committed budget counts from the first release on, however the run ended. Stopping early "
        "saves nothing.",
        config::find_policy(parse_named<policy_kind>(s.policy)).proof, describe_draws(s),
        "Anything computed from the public files alone, and any use of the trained weights, stays within the bound."};
    if (s.held_out == publication::noised)
        out.holds.push_back(
            fmt::format("Held-out units were looked at {} time{}, each a sum with noise of {} times what one unit can "
                        "add. A unit is "
                        "either trained on or looked at, whatever the others are, so each side has the bound.",
                        s.looks, s.looks == 1 ? "" : "s", readable(s.looks_noise_multiplier)));
    if (s.split == "exact")
        out.holds.emplace_back(
            "<b>Conditional on the split.</b> The exact split shuffles the whole table, so one more unit can move "
            "others between the sides. The bound holds for a given split, not for the choice of it.");
}

}  // namespace

guarantees describe_guarantees(const run_summary& s) {
    guarantees out;
    out.any = s.guarantee().holds();
    if (s.semantics != semantics::sound)
        add_published(s, out);
    else if (s.insecure_reproducible)
        add_insecure(out);
    else
        add_sound(s, out);
    if (s.semantics != semantics::sound && s.insecure_reproducible)
        out.does_not.emplace_back(
            "Draws and noise came from the configuration's seed; anyone can compute and subtract them.");
    out.does_not.insert(out.does_not.end(),
                        {"<b>Progress ε</b>, and the ε per accountant of the steps so far, price noise that was chosen "
                         "along the way. They are for orientation and no guarantee.",
                         "<code>gdp_clt</code> is an approximation that can under-report; it is never an upper bound.",
                         "Files under <code>trusted/</code> are not for release. Nor are durations: whoever can time "
                         "the steps learns about batch sizes.",
                         "Settings that are tried in runs of their own cost the budget of each; <code>rldp tune</code> "
                         "tries them within one."});
    if (s.held_out == publication::raw)
        out.does_not.insert(
            out.does_not.end() - 3,
            "<b>Held-out perplexity</b> is raw information about the evaluation units, which are outside "
            "the contract. It was shown, and steered nothing.");
    return out;
}

}  // namespace rldp::eval

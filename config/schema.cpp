#include "config/schema.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/data_names.hpp"
#include "base/guarantee.hpp"
#include "base/kinds.hpp"
#include "config/methods.hpp"
#include "config/open_keys.hpp"
#include "config/policies.hpp"
#include "config/schema_rows.hpp"

namespace rldp::config {

namespace {

using namespace rows;

std::vector<std::string> method_names() {
    std::vector<std::string> names;
    for (const auto& row : methods()) names.push_back(row.name);
    return names;
}

std::vector<std::string> policy_names() {
    std::vector<std::string> names;
    for (const auto& row : policies())
        if (row.sound) names.push_back(name_of(row.kind));
    return names;
}

/// "0.5 for autoclip_quantile, 0.3 for dcsgd_p": rows of one default together. Where every row has one, the commonest
/// stands last: "0.02 for rldp, else 0".
template <class Default>
std::string by_method(Default describe_row) {
    std::vector<std::pair<std::string, std::vector<std::string>>> kinds;
    bool all = true;
    for (const auto& row : methods()) {
        const std::optional<std::string> words = describe_row(row);
        all = all && words;
        if (!words) continue;
        const auto found =
            std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.first == *words; });
        if (found == kinds.end())
            kinds.push_back({*words, {row.name}});
        else
            found->second.push_back(row.name);
    }
    if (kinds.size() == 1) return kinds.front().first;
    std::string others;
    if (all) {
        const auto commonest = std::max_element(
            kinds.begin(), kinds.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
        others = ", else " + commonest->first;
        kinds.erase(commonest);
    }
    std::string out;
    for (const auto& [words, names] : kinds) out += (out.empty() ? "" : ", ") + words + " for " + joined_names(names);
    return out + others;
}

/// Of a member that every row has.
template <class Value>
std::string by_method(Value method_row::*key) {
    return by_method([key](const method_row& row) { return std::optional(fmt::format("{}", row.*key)); });
}

template <class Value>
std::string by_method(std::optional<Value> method_row::*key) {
    return by_method([key](const method_row& row) -> std::optional<std::string> {
        if (!(row.*key)) return std::nullopt;
        return fmt::format("{}", *(row.*key));
    });
}

std::string query_noise_by_method() {
    return by_method([](const method_row& row) -> std::optional<std::string> {
        if (!row.query_noise) return std::nullopt;
        return row.query_noise->words;
    });
}

/// The unit of privacy: "record", or {"group": "column"}, which takes two members.
bool read_unit(const json& value, const std::filesystem::path&, run_config& into) {
    auto& privacy = into.privacy;
    const bool group = value.is_object() && value.size() == 1 && value.contains("group");
    if (group) {
        if (!value["group"].is_string() || value["group"].get<std::string>().empty()) return false;
        privacy.unit = value["group"].get<std::string>();
        if (privacy.unit == "record")
            refuse(
                "privacy.unit: a column named \"record\" can't be told from the unit of that name; rename the column");
    } else {
        if (!value.is_string() || value.get<std::string>() != "record") return false;
        privacy.unit = "record";
    }
    privacy.unit_is_group = group;
    return true;
}

json unit_schema() {
    const json group = {{"type", "object"},
                        {"properties", {{"group", {{"type", "string"}, {"minLength", 1}}}}},
                        {"required", {"group"}},
                        {"additionalProperties", false}};
    return {{"anyOf", json::array({{{"const", "record"}}, group})}};
}

json write_unit(const run_config& from) {
    if (from.privacy.unit_is_group) return json{{"group", from.privacy.unit}};
    return from.privacy.unit;
}

void add_privacy(std::vector<key>& keys) {
    section part(
        keys, "privacy.", [](auto& c) -> auto& { return c.privacy; });
    part.add("epsilon", &privacy_section::epsilon, above(0), "", "ε of the contract.")
        .add("delta", &privacy_section::delta, open(between(0, 1)), "",
             "δ of the contract; well below 1/N, or the contract says little.")
        .add("accountant", &privacy_section::accountant, any_of<accountant_kind>(), "",
             "Enforces the budget; pld is the tightest bound, gdp_clt is no bound and serves as_published only.");
    section(
        keys, "privacy.risk.", [](auto& c) -> auto& { return c.privacy.risk; })
        .add("fpr", &risk_section::fpr, open(between(0, 1)), "",
             "With privacy.risk.tpr: how often an attacker who asks whether a unit was in the data may be wrong about "
             "one that was not, such as 0.01.",
             "no bound on attackers but ε and δ")
        .add("tpr", &risk_section::tpr, open(between(0, 1)), "",
             "How often he is then right about one that was, at most, such as 0.05: privacy.epsilon is lowered until "
             "that holds.",
             "no bound on attackers but ε and δ");
    part.add("semantics", &privacy_section::semantics, any_of<semantics>(), "",
             "sound keeps the contract; as_published reproduces the publication and guarantees nothing.");
    keys.push_back({"privacy.unit", "", R"("record" or {"group": "a column"})", unit_schema(),
                    "Whose presence is hidden: one record, or all records that share the column, such as a patient's.",
                    "", read_unit, write_unit});
    part.add("population", &privacy_section::population, between(1, most_units), "units",
             "N, declared as a public constant; the sampling rate is expected_batch_size/N.",
             "the number of training units")
        .add(
            "max_records_per_unit", &privacy_section::max_records_per_unit, between(1, most_width), "records",
            "Of a group unit with more records, a fixed subset of so many is trained on: the work per unit is bounded.")
        .add("pad_batches", &privacy_section::pad_batches, yes_or_no{}, "",
             "Every step computes the same public number of micro-batches, dummy rows included, so that its duration "
             "tells nothing of the draw.")
        .add("acknowledge_no_guarantee", &privacy_section::acknowledge_no_guarantee, yes_or_no{}, "",
             "as_published runs only where this is true.")
        .add("accept_large_delta", &privacy_section::accept_large_delta, yes_or_no{}, "",
             "A δ of 1/N or more, which would let one record be published outright, runs only where this is true.")
        .add("book", &privacy_section::book,
             location{"a name, the path of a directory, found, or none",
                      [](const std::string& text) { return !is_book_path(text); }},
             "",
             "The budget book of the population (rldp book), in which all runs on its data add up: by a name of "
             "letters, digits, '.', '_' and '-'; by a directory's path, which has a '/'; found: the book whose data "
             "are like these, else a new one; none: nothing keeps count.",
             "found; none for made-up data")
        .add("runs", &privacy_section::runs, between(1, most_runs), "runs",
             "The contract is for so many runs of this plan together, and the noise of each is what that takes: those "
             "of "
             "a tuning, which `rldp tune` makes.");
}

void add_noise_and_clip(std::vector<key>& keys) {
    const auto radii = between(limits::least_radius, limits::greatest_radius);
    section(
        keys, "noise.", [](auto& c) -> auto& { return c.noise; })
        .add("policy", &noise_section::policy, words{policy_names()}, "",
             "How the budget is spent: the same noise at each step, a deck of levels played in the controller's order, "
             "or free levels under a Rényi filter. Where the published controller does not steer it is fixed.",
             by_method([](const method_row& row) { return std::optional(name_of(row.policy)); }))
        .add("allocation", &noise_section::allocation, any_of<allocation>(), "",
             "How the gradient's noise is divided among the adapters.",
             "shares under rl.state prepared, else proportional")
        .tunable()
        .add("statistics_share", &noise_section::statistics_share, half_open(0, 1), "",
             "Part of 1/z² spent on the statistics that rldp's controller sees, or, at every tenth step, on the losses "
             "by which hyfreedp sets the learning rate; other methods have none.",
             by_method(&method_row::statistics_share))
        .tunable()
        .add("bands", &noise_section::bands, between(1, 1024), "steps",
             "Noise is correlated over so many steps, so that later ones take back a part of what earlier ones added; "
             "each unit is drawn at every so many'th step only. 1: independent noise. noise.policy fixed alone.",
             "chosen: more than 1 where they take a quarter of the noise, and train.lr is open or tried")
        .add("insecure_reproducible", &noise_section::insecure_reproducible, yes_or_no{}, "",
             "Draws, dropout and noise follow from the seed: for tests, no guarantee.");
    section(
        keys, "noise.deck.", [](auto& c) -> auto& { return c.noise.deck; })
        .add("levels", &deck_section::levels, between(1, 256), "levels", "Distinct noise levels of the deck.")
        .add("ratio", &deck_section::ratio, between(1, 100), "", "Largest over smallest noise multiplier of the deck.");
    section(
        keys, "clip.", [](auto& c) -> auto& { return c.clip; })
        .add("groups", &clip_section::groups, any_of<clip_grouping>(), "",
             "What is clipped as one: each adapter on its own, all A matrices and all B matrices, or the whole "
             "gradient.",
             by_method([](const method_row& row) { return std::optional(name_of(row.default_groups())); }))
        .tunable()
        .add("initial", &clip_section::initial, radii, "gradient norm", "Every radius at the first step.",
             by_method(&method_row::initial_radius))
        .tunable()
        .add("min", &clip_section::min, radii, "gradient norm", "No radius goes below.")
        .tunable()
        .add("max", &clip_section::max, radii, "gradient norm", "No radius goes above.")
        .tunable();
    section(
        keys, "public.", [](auto& c) -> auto& { return c.public_data; })
        .add("path", &public_section::path,
             location{"the path of a CSV, JSONL or text file, synthetic:N[@WORLD] or template:N", is_made_up}, "",
             "Records that need no protection, of the private ones' kind: an adapter is trained on them beforehand, "
             "without noise. Refused where it shares a record with data.path. template:N makes up N rows of what "
             "data.template's schema declares: they teach how a row is told.",
             "no public records")
        .add("use", &public_section::use, any_of<public_use>(), "",
             "What that is good for: training starts from that adapter; the medians of public gradient norms become "
             "rldp's radii, in "
             "place of private ones; of the last iterate and the average, the one is kept on which 64 public records "
             "lose less.")
        .add("steps", &public_section::steps, between(1, most_steps), "steps", "Length of the training on them.")
        .tunable()
        .add("lr", &public_section::lr, above_to(0, 10), "", "AdamW's learning rate in it, the same at every step.",
             "train.lr; as that is chosen where train.optimizer takes none")
        .tunable();
}

void add_train(std::vector<key>& keys) {
    section(
        keys, "method.", [](auto& c) -> auto& { return c.method; })
        .add("name", &method_section::name, words{method_names()}, "",
             "rldp may have a controller, by rl.state; the others are published baselines.")
        .tunable()
        .add("quantile", &method_section::quantile, open(between(0, 1)), "",
             "autoclip_quantile and dcsgd_p: the fraction of units whose gradient lies within the radius.",
             by_method(&method_row::quantile))
        .tunable()
        .add("query_noise", &method_section::query_noise, above(0), "units",
             "Standard deviation of the noise on the count of units within the radius (autoclip_quantile), or on each "
             "of "
             "the histogram's 20 counts (dcsgd_p, dcsgd_e); charged jointly with the gradient.",
             query_noise_by_method())
        .tunable()
        .add("stabiliser", &method_section::stabiliser, above(0), "gradient norm",
             "γ of auto_s and hyfreedp, r of psac: what keeps the weight of the smallest gradients finite. dp_adambc: "
             "the least root "
             "of a second moment without its noise, in standard deviations of that noise. scale_first: the least "
             "scale, relative to the root mean square.",
             by_method(&method_row::stabiliser))
        .tunable()
        .add("rank", &method_section::rank, between(0, 64), "",
             "geoclip: directions per adapter whose variance is tracked on its own; 0 tracks one number per adapter.",
             by_method(&method_row::rank))
        .tunable();
    section(
        keys, "train.", [](auto& c) -> auto& { return c.train; })
        .add("epochs", &train_section::epochs, above_to(0, 1e6), "epochs",
             "Length of the run as expected passes over the training units; not together with steps.",
             "3 where steps is absent")
        .add("steps", &train_section::steps, between(1, most_steps), "steps",
             "Length of the run; not together with epochs.", "floor(epochs·N/expected_batch_size)")
        .add("expected_batch_size", &train_section::expected_batch_size, between(1, most_batch), "units",
             "B: every unit is drawn with probability B/N at each step.",
             "chosen: the largest power of two that leaves enough steps")
        .add("micro_batch", &train_section::micro_batch, between(1, most_width), "records",
             "Records that are computed at a time, each unit's in passes of its own (on a CUDA device in float32 "
             "together); "
             "memory grows with it. With at least as many as there are threads, that many units are computed abreast.",
             "chosen: the largest power of two up to 16, or the number of threads, that leaves a quarter of the "
             "machine's "
             "memory free")
        .add("parameters", &train_section::parameters, form{"names of parameters", is_name}, "",
             "What is trained whole, in float32, instead of LoRA adapters: all, bias, norm, embedding, a role (o, fc, "
             "…), "
             "the end of a module's name, or a regular expression for the whole name. Needs train.lr.",
             "absent: LoRA adapters")
        .tunable()
        .add(
            "optimizer", &train_section::optimizer, any_of<optimizer_kind>(), "",
            "What takes the steps. dog, prodigy and mechanic find their learning rate themselves and take no train.lr; "
            "hypergradient moves AdamW's. They go without a controller (docs/methods.md).")
        .tunable()
        .add("lr", &train_section::lr, above_to(0, 10), "",
             "The learning rate after the warm-up, of adamw and hypergradient.", "chosen: by the model's width")
        .tunable()
        .add("warmup", &train_section::warmup, between(0, most_steps), "steps",
             "The learning rate rises linearly over these steps.", "chosen: a twentieth of the steps")
        .tunable()
        .add("schedule", &train_section::schedule, any_of<rate_shape>(), "",
             "The learning rate after the warm-up: it stays; falls to final_lr in a straight line or along half a "
             "cosine; stays, and falls over the last decay steps.",
             "chosen: linear, but constant for hyfreedp")
        .tunable()
        .add("final_lr", &train_section::final_lr, between(0, 10), "",
             "Where a falling rate ends, behind the last step.")
        .tunable()
        .add("decay", &train_section::decay, between(1, most_steps), "steps", "Of wsd: over how many it falls.",
             "a fifth of the steps")
        .tunable()
        .add("average", &train_section::average, any_of<averaging>(), "",
             "What is evaluated and saved: the last iterate, an exponential moving average, or the mean of the last "
             "ones. Gradients are taken at the last iterate.")
        .tunable()
        .add("average_window", &train_section::average_window, above_to(0, 1), "share of the steps",
             "How far the average reaches back.")
        .tunable()
        .add("value_weight", &train_section::value_weight, above_to(0, 1000), "",
             "Of tokens that carry a value of the table, in a record's mean loss; the template's own weigh 1.",
             "chosen: 3 where data.template and a warm start are, else 1")
        .tunable()
        .add("eval_every", &train_section::eval_every, between(1, most_steps), "steps",
             "Steps between checkpoints; with eval.publish raw or none held-out units are evaluated then, too, before "
             "the "
             "first step, after each pass over the data (N/B steps) and at the end.",
             "chosen: a twentieth of the steps")
        .add("eval_records", &train_section::eval_records, between(1, most_units), "units",
             "About so many held-out units are looked at: those whose hash lies below a share of the expected number.",
             "chosen: at most a tenth of the training between two evaluations, from 256 to 4096, or to 16384 where "
             "looks "
             "carry noise");
}

}  // namespace

const std::vector<key>& schema() {
    static const auto keys = [] {
        std::vector<key> all;
        add_privacy(all);
        add_noise_and_clip(all);
        add_train(all);
        add_inputs(all);
        add_company(all);
        return all;
    }();
    return keys;
}

std::optional<json> rewrite(const key& known, const json& value, const std::filesystem::path& base) {
    run_config scratch;
    if (!known.read(value, base, scratch)) return std::nullopt;
    return known.write(scratch);
}

}  // namespace rldp::config

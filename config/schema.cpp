#include "config/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/data_names.hpp"
#include "base/kinds.hpp"
#include "config/methods.hpp"
#include "config/open_keys.hpp"
#include "config/policies.hpp"

namespace rldp::config {

namespace {

constexpr double most_units = 1e12;   // units or records: no table is larger
constexpr double most_width = 65536;  // batches, records of a unit

interval open(interval range) {
    range.least_open = range.most_open = true;
    return range;
}

interval half_open(double least, double most) {
    return {.least = least, .most = most, .most_open = true};
}
interval above_to(double least, double most) {
    return {.least = least, .most = most, .least_open = true};
}

/// The whole of `text` as a number of that type.
template <class Number>
std::optional<Number> whole(std::string_view text) {
    Number number{};
    const auto end = text.data() + text.size();
    const auto [stop, status] = std::from_chars(text.data(), end, number);
    if (status != std::errc{} || stop != end) return std::nullopt;
    return number;
}

bool is_host_and_port(const std::string& text) {
    const auto colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) return false;
    return whole<std::uint16_t>(std::string_view(text).substr(colon + 1)).value_or(0) > 0;
}

bool is_port_or_address(const std::string& text) {
    return whole<std::uint16_t>(text).value_or(0) > 0 || is_host_and_port(text);
}

bool is_device(const std::string& text) {
    return is_device_name(text);
}

bool is_text(const std::string& text) {
    return !text.empty();
}

bool is_name(const std::string& text) {
    return !text.empty() && text.find_first_of(" \t\r\n\"") == std::string::npos;
}

bool is_line(const std::string& text) {
    const auto control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
    return is_text(text) && text.size() <= 100 && std::none_of(text.begin(), text.end(), control);
}

bool is_date(const std::string& text) {
    constexpr std::string_view form = "dddd-dd-dd";
    return std::equal(text.begin(), text.end(), form.begin(), form.end(),
                      [](char c, char of) { return of == 'd' ? c >= '0' && c <= '9' : c == of; });
}

bool is_note(const std::string& text) {
    return is_text(text) && text.size() <= 4000;
}

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

/// Collects the keys of one section; `Get` maps the configuration to the section, const or not.
template <class Get>
class section {
  public:
    section(std::vector<key>& keys, std::string prefix, Get get) : keys_(keys), prefix_(std::move(prefix)), get_(get) {}

    template <class Section, class Value>
    section& add(const char* name, Value Section::*member, domain allowed, const char* unit, const char* sentence,
                 const std::string& absent = "") {
        keys_.push_back({prefix_ + name, unit, expectation(allowed, Value{}), json_schema(allowed, Value{}), sentence,
                         absent,
                         [get = get_, member, allowed](const json& value, const auto& base, run_config& into) {
                             return assign(value, allowed, base, get(into).*member);
                         },
                         [get = get_, member](const run_config& from) { return written(get(from).*member); },
                         std::holds_alternative<location>(allowed)});
        return *this;
    }

  private:
    std::vector<key>& keys_;
    std::string prefix_;
    Get get_;
};

void add_privacy(std::vector<key>& keys) {
    section part(
        keys, "privacy.", [](auto& c) -> auto& { return c.privacy; });
    part.add("epsilon", &privacy_section::epsilon, above(0), "", "ε of the contract.")
        .add("delta", &privacy_section::delta, open(between(0, 1)), "",
             "δ of the contract; well below 1/N, or the contract says little.")
        .add("accountant", &privacy_section::accountant, any_of<accountant_kind>(), "",
             "Enforces the budget; pld is the tightest bound, gdp_clt is no bound and serves as_published only.");
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
             "found; none for made-up data");
}

void add_noise_and_clip(std::vector<key>& keys) {
    const auto radii = between(limits::least_radius, limits::greatest_radius);
    section(
        keys, "noise.", [](auto& c) -> auto& { return c.noise; })
        .add("policy", &noise_section::policy, words{policy_names()}, "",
             "How the budget is spent: the same noise at each step, a deck of levels played in the controller's order, "
             "or free levels under a Rényi filter. Under rl.state prepared it is fixed.",
             by_method([](const method_row& row) { return std::optional(name_of(row.policy)); }))
        .add("allocation", &noise_section::allocation, any_of<allocation>(), "",
             "How the gradient's noise is divided among the adapters.",
             "shares under rl.state prepared, else proportional")
        .add("statistics_share", &noise_section::statistics_share, half_open(0, 1), "",
             "Part of 1/z² spent on the statistics that rldp's controller sees, or, at every tenth step, on the losses "
             "by which hyfreedp sets the learning rate; other methods have none.",
             by_method(&method_row::statistics_share))
        .add("bands", &noise_section::bands, between(1, 1024), "steps",
             "Noise is correlated over so many steps, so that later ones take back a part of what earlier ones added; "
             "each unit is drawn at every so many'th step only. 1: independent noise. noise.policy fixed alone.",
             "chosen: as many, up to 8, as pay; 1 under rl.state prepared and under noise.policy deck and filter")
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
        .add("initial", &clip_section::initial, radii, "gradient norm", "Every radius at the first step.",
             by_method(&method_row::initial_radius))
        .add("min", &clip_section::min, radii, "gradient norm", "No radius goes below.")
        .add("max", &clip_section::max, radii, "gradient norm", "No radius goes above.");
    section(
        keys, "public.", [](auto& c) -> auto& { return c.public_data; })
        .add("path", &public_section::path,
             location{"the path of a CSV, JSONL or text file, or synthetic:N[@WORLD]", is_synthetic}, "",
             "Records that need no protection, of the private ones' kind: an adapter is trained on them beforehand, "
             "without noise. Refused where it shares a record with data.path.",
             "no public records")
        .add("use", &public_section::use, any_of<public_use>(), "",
             "What that is good for: training starts from that adapter; the medians of public gradient norms become "
             "rldp's radii, in "
             "place of private ones; of the last iterate and the average, the one is kept on which 64 public records "
             "lose less.")
        .add("steps", &public_section::steps, between(1, most_steps), "steps", "Length of the training on them.")
        .add("lr", &public_section::lr, above_to(0, 10), "", "AdamW's learning rate in it, the same at every step.",
             "train.lr");
}

void add_train(std::vector<key>& keys) {
    section(
        keys, "method.", [](auto& c) -> auto& { return c.method; })
        .add("name", &method_section::name, words{method_names()}, "",
             "rldp steers radii and noise by reinforcement learning; the others are published baselines.")
        .add("quantile", &method_section::quantile, open(between(0, 1)), "",
             "autoclip_quantile and dcsgd_p: the fraction of units whose gradient lies within the radius.",
             by_method(&method_row::quantile))
        .add("query_noise", &method_section::query_noise, above(0), "units",
             "Standard deviation of the noise on the count of units within the radius (autoclip_quantile), or on each "
             "of "
             "the histogram's 20 counts (dcsgd_p, dcsgd_e); charged jointly with the gradient.",
             query_noise_by_method())
        .add("stabiliser", &method_section::stabiliser, above(0), "gradient norm",
             "γ of auto_s and hyfreedp, r of psac: what keeps the weight of the smallest gradients finite. dp_adambc: "
             "the least root "
             "of a second moment without its noise, in standard deviations of that noise. scale_first: the least "
             "scale, relative to the root mean square.",
             by_method(&method_row::stabiliser))
        .add("rank", &method_section::rank, between(0, 64), "",
             "geoclip: directions per adapter whose variance is tracked on its own; 0 tracks one number per adapter.",
             by_method(&method_row::rank));
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
        .add("lr", &train_section::lr, above_to(0, 10), "", "AdamW's learning rate after the warm-up.",
             "chosen: by the model's width")
        .add("warmup", &train_section::warmup, between(0, most_steps), "steps",
             "The learning rate rises linearly over these steps.", "chosen: a twentieth of the steps")
        .add("schedule", &train_section::schedule, any_of<rate_shape>(), "",
             "The learning rate after the warm-up: it stays; falls to final_lr in a straight line or along half a "
             "cosine; stays, and falls over the last decay steps.",
             "chosen: linear, but constant for hyfreedp")
        .add("final_lr", &train_section::final_lr, between(0, 10), "",
             "Where a falling rate ends, behind the last step.")
        .add("decay", &train_section::decay, between(1, most_steps), "steps", "Of wsd: over how many it falls.",
             "a fifth of the steps")
        .add("average", &train_section::average, any_of<averaging>(), "",
             "What is evaluated and saved: the last iterate, an exponential moving average, or the mean of the last "
             "ones. Gradients are taken at the last iterate.")
        .add("average_window", &train_section::average_window, above_to(0, 1), "share of the steps",
             "How far the average reaches back.")
        .add("value_weight", &train_section::value_weight, above_to(0, 1000), "",
             "Of tokens that carry a value of the table, in a record's mean loss; the template's own weigh 1.",
             "chosen: 3 where data.template and a warm start are, else 1")
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

void add_data_and_model(std::vector<key>& keys) {
    section(
        keys, "data.", [](auto& c) -> auto& { return c.data; })
        .add("path", &data_section::path,
             location{"the path of a CSV, JSONL or text file, or synthetic:N[@WORLD]", is_synthetic}, "",
             "The records: a CSV table, JSONL or text with one record per line, or synthetic:N for N made-up "
             "encounters; synthetic:N@WORLD takes them from a world where the same values have other frequencies.")
        .add("ids_mapping", &data_section::ids_mapping, location{"the path of IDs_mapping.csv"}, "",
             "Names of the coded columns of the UCI diabetes table.",
             "IDs_mapping.csv beside data.path, if it is there")
        .add("template", &data_section::narrative, location{"the path of a template (JSON)"}, "",
             "Turns a row of a table into prose.", "none: records are text already")
        .add(
            "chat", &data_section::chat, yes_or_no{}, "",
            "Records are conversations: JSON lines whose \"messages\" (role and content) the model's own chat template "
            "writes; only the assistant's answers are learned.")
        .add("max_tokens", &data_section::max_tokens, between(2, limits::longest_window), "tokens",
             "Longer records are cut.", "the model's window")
        .add("keep", &data_section::keep, any_of<kept_end>(), "", "Which part of a record that is cut remains.")
        .add("canaries", &data_section::canaries, between(0, 1e6), "records",
             "Training records that get a secret appended, for extraction attacks.")
        .add("canary_length", &data_section::canary_length, between(1, limits::longest_secret), "characters",
             "Length of those secrets, of A-Z and 0-9; up to 3, an audit ranks a secret among all that exist.")
        .add("split", &data_section::split, any_of<split_kind>(), "",
             "Sides by a keyed hash per unit, or exact shares of a shuffled table (the contract is then conditional on "
             "the split).")
        .add("split_seed", &data_section::split_seed, at_least(0), "", "Public randomness of the split.")
        .add("cache", &data_section::cache,
             location{"the path of a directory, or none", [](const std::string& text) { return text == no_cache; }}, "",
             "Where the tokens of the records are kept, sealed, for runs to come on the same file; none: in memory "
             "only.",
             "in the run's trusted/ until it ends");
    section(
        keys, "model.", [](auto& c) -> auto& { return c.model; })
        .add("path", &model_section::path, location{"the path of a model directory"}, "",
             "A Hugging Face directory: config.json, model.safetensors, tokenizer.")
        .add(
            "name", &model_section::name, form{"a line of up to 100 bytes", is_line}, "",
            "What others call it, such as HuggingFaceTB/SmolLM2-135M: the adapter names it as its base, and PEFT loads "
            "it by that.",
            "the Hub's, where path lies in its cache, else the directory's")
        .add("dtype", &model_section::dtype, any_of<precision>(), "",
             "Type of the frozen weights; tf32 is float32 with the products of a CUDA device in TensorFloat-32.")
        .add("checkpoint_activations", &model_section::checkpoint_activations, yes_or_no{}, "",
             "Keeps only the input of each layer for the backward pass and computes the rest again: less memory for "
             "about a third more time, and the same numbers.");
    section(
        keys, "lora.", [](auto& c) -> auto& { return c.lora; })
        .add("rank", &lora_section::rank, between(1, limits::largest_rank), "", "Rank of every adapter.")
        .add("alpha", &lora_section::alpha, above(0), "", "An adapter's output is scaled by alpha/rank.")
        .add("dropout", &lora_section::dropout, half_open(0, 1), "", "Dropout of an adapter's input.")
        .add("targets", &lora_section::targets, form{"module names", is_name}, "",
             "The linear modules that get an adapter: q, k, v, o, all-linear, the end of a module's name, or a regular "
             "expression for the whole name.");
    section(
        keys, "eval.", [](auto& c) -> auto& { return c.eval; })
        .add("target", &eval_section::target, form{"a column's name", is_text}, "",
             "A column whose value is guessed in held-out records at the end: every class is put in its place, and "
             "scored. "
             "AUC and accuracy are for the owner alone unless eval.publish is raw.",
             "none")
        .add("classes", &eval_section::classes, form{"values", is_text}, "",
             "The values of eval.target, as records tell them: each look then tells the accuracy, too.",
             "collected from held-out records, and accuracy is for the owner alone")
        .add("publish", &eval_section::publish, any_of<publication>(), "",
             "What goes out of held-out units: a few looks with noise, priced like training, so that they are "
             "protected as "
             "training units are; nothing; or exact figures, and then nothing protects them. Exact figures are always "
             "in "
             "trusted/, for the owner.")
        .add("looks", &eval_section::looks, between(1, 100), "",
             "How often held-out units are looked at, of eval.publish private: at the start, at the end and between. "
             "More "
             "looks have more noise each.")
        .add("clip", &eval_section::clip, above_to(0, 1000), "nats per token",
             "How far a held-out unit's mean loss may lie from where it is expected before it is drawn nearer; the "
             "noise "
             "of a look grows with it.",
             "chosen: 0.6 of the logarithm of the model's vocabulary");
}

void add_rl(std::vector<key>& keys) {
    section(
        keys, "rl.", [](auto& c) -> auto& { return c.rl; })
        .add("state", &rl_section::state, any_of<controller_kind>(), "",
             "What the controller looks at: the published statistics, from which it learns in the run; or what the "
             "releases show of each adapter, by which a policy that was prepared on made-up tasks sets learning rates "
             "and shares of the noise.",
             "chosen: prepared for runs as long as those that the shipped policy has seen, unless a key is given that "
             "it "
             "has no use for")
        .add("controller", &rl_section::controller, location{"the path of a prepared policy"}, "",
             "The policy of rl.state prepared. It brings a schedule and an average of its own, around the mean rate "
             "train.lr.",
             "the one that ships, config/policies/language.safetensors")
        .add("signer", &rl_section::signer, location{"the path of a public key (rldp key new)"}, "",
             "Whose signature rl.controller must bear.", "anyone's, or none")
        .add("actions", &rl_section::actions, any_of<controller_action>(), "",
             "What the controller sets; shares needs noise.allocation shares.")
        .add(
            "policy", &rl_section::policy, any_of<controller_mode>(), "",
            "learned improves while the run goes on, or is what preparation learned. Controls for experiments: frozen "
            "stays as it was initialised, random draws every action from a standard normal; of a prepared policy, "
            "frozen is its schedule alone, random tosses the direction of each of its moves, and shuffled shows it the "
            "signs of a block drawn from those so far.")
        .add("online", &rl_section::online, yes_or_no{}, "",
             "What the prepared policy adds to its rule goes on learning in the run (SAC), while steps are made, from "
             "the loss on 64 public records after each block; needs public.path. An experiment.")
        .add(
            "radius_scale", &rl_section::radius_scale, above_to(0, 100), "",
            "In the warm-up, and under clip_action delta, radii are relative to so many medians of the gradient norms.",
            fmt::format("{}, but {} under as_published", default_radius_scale(semantics::sound),
                        default_radius_scale(semantics::as_published)))
        .add("rescale", &rl_section::rescale, yes_or_no{}, "",
             "Each group's released sum is divided by its radius, so that AdamW, whose memory is long, sees one scale "
             "while radii change.",
             "true, but false under as_published")
        .add("interval", &rl_section::interval, between(1, most_steps), "steps", "T_RL: steps between decisions.",
             "chosen: a twelfth of the steps or so, or rl.controller's own")
        .add("warmup", &rl_section::warmup, between(0, most_steps), "steps",
             "T_warm: no decision before; afterwards the radii start from the released medians.",
             "chosen: rl.interval, one less under rl.controller")
        .add("batch", &rl_section::batch, between(1, most_width), "transitions", "B_SAC: transitions per update.")
        .add("updates", &rl_section::updates, between(1, 1000), "", "K: rounds of updates after each decision.")
        .add("gamma", &rl_section::gamma, half_open(0, 1), "", "Discount of later rewards.")
        .add("alpha", &rl_section::alpha, between(0, 1000), "", "Temperature: weight of the policy's entropy.")
        .add("tau", &rl_section::tau, above_to(0, 1), "", "Rate at which the target critics follow (Polyak).")
        .add("actor_lr", &rl_section::actor_lr, above_to(0, 1), "", "The actor's learning rate.")
        .add("critic_lr", &rl_section::critic_lr, above_to(0, 1), "", "The critics' and the encoder's learning rate.")
        .add("replay", &rl_section::replay, between(1, 1e7), "transitions", "The oldest transition goes first.")
        .add("reward_floor", &rl_section::reward_floor, above(0), "",
             "R_max: rewards below its negative are raised to it.")
        .add("clip_action", &rl_section::clip_action, any_of<clip_action>(), "",
             "Radii from the action alone (published), or relative to the tracked medians.");
    section(
        keys, "audit.", [](auto& c) -> auto& { return c.audit; })
        .add("canaries", &audit_section::canaries, between(0, 1e6), "records",
             "m: made-up records of a secret each, which join the training units with probability ½, so that the run "
             "can be audited for a lower bound on ε.")
        .add("gradient_canaries", &audit_section::gradient_canaries, between(0, 1e6), "units",
             "The same with units whose gradients are random directions larger than any radius: a stronger test, of "
             "what sees every release.")
        .add(
            "guesses", &audit_section::guesses, between(2, 1e6), "canaries",
            "r, even: the audit takes so many guesses at who was in, half in and half out, and abstains on the others.",
            "half of the canaries")
        .add("look_canaries", &audit_section::look_canaries, between(0, 64), "units",
             "The same with units that are made up for looks at held-out units (eval.publish private), each with "
             "probability one half: a test of the looks' noise.")
        .add("confidence", &audit_section::confidence, open(between(0, 1)), "",
             "Of the lower bound on ε, over both kinds of canaries together.")
        .add("targets", &audit_section::targets, between(1, most_units), "units",
             "Membership is guessed of so many training units and as many Attack units.")
        .add("ending", &audit_section::ending, form{"text", is_text}, "",
             "Where a record's ending begins, whose likelihood tells members; records without it are left out.",
             "the whole record's likelihood")
        .add("prompt", &audit_section::prompt, location{"the path of a text file"}, "",
             "The extraction attack's instruction, with {profile} where the record goes.",
             "the record alone is continued")
        .add("trials", &audit_section::trials, between(1, 1e7), "texts", "Generations of the extraction attack.")
        .add("references", &audit_section::references, between(limits::fewest_references, 1e6), "secrets",
             "Made-up secrets that exposure compares a canary with, where not all that exist can be.")
        .add("shadow", &audit_section::shadow, between(0, 1e6), "",
             "Makes this a shadow run of that number: every target is in training with probability ½.", "no shadow");
    section(
        keys, "monitor.", [](auto& c) -> auto& { return c.monitor; })
        .add("address", &monitor_section::address, form{"HOST:PORT, such as 127.0.0.1:4242", is_host_and_port}, "",
             "Where rldp monitor can attach.", "no monitor")
        .add("http", &monitor_section::http, form{"[HOST:]PORT, such as 8787", is_port_or_address}, "",
             "Where the run shows itself to browsers; an address beyond this machine needs TLS and tokens.",
             "no dashboard")
        .add("tls_certificate", &monitor_section::tls_certificate, location{"the path of a PEM file"}, "",
             "The dashboard's certificate (rldp key new --tls HOST).", "no TLS")
        .add("tls_key", &monitor_section::tls_key, location{"the path of a PEM file"}, "", "The certificate's key.",
             "no TLS")
        .add("client_ca", &monitor_section::client_ca, location{"the path of a PEM file"}, "",
             "Only browsers whose certificate this one has signed are let in.", "no certificates of clients")
        .add("token_file", &monitor_section::token_file, location{"the path of a file of tokens"}, "",
             "Tokens of viewers and operators (rldp key new --tokens); an operator's may stop the run.", "no tokens")
        .add("allow_hosts", &monitor_section::allow_hosts, form{"names of hosts", is_name}, "",
             "Other names that the dashboard is called by, as behind a proxy.")
        .add("tensorboard", &monitor_section::tensorboard, yes_or_no{}, "",
             "Also writes public/tensorboard, scalars as TensorBoard reads them.");
    section(
        keys, "cluster.", [](auto& c) -> auto& { return c.cluster; })
        .add("secret", &cluster_section::secret, location{"the path of a cluster secret"}, "",
             "What the ranks of a run have in common and nobody else (rldp key new --cluster).",
             "no other ranks, or those of --workers")
        .add("timeout", &cluster_section::timeout, between(5, 86400), "seconds",
             "A rank that is silent for so long ends the run on all of them; it can be resumed.");
    section(
        keys, "run.", [](auto& c) -> auto& { return c.run; })
        .add("name", &run_section::name, form{"a line of up to 100 bytes", is_line}, "",
             "What to call the run in reports, lists, the dashboard and its certificate. Public, as the next two are.",
             "the name of its directory")
        .add("tags", &run_section::tags, form{"words", is_name}, "", "By which lists of runs can be told apart.",
             "none")
        .add("notes", &run_section::notes, form{"text of up to 4000 bytes", is_note}, "",
             "What its report should say of it.", "none")
        .add("date", &run_section::date, form{"a date, such as 2026-01-31", is_date}, "",
             "Of the report. When a run ends is not public, for that may depend on the records.",
             "the day on which the run is begun, UTC");
    section(
        keys, "", [](auto& c) -> auto& { return c; })
        .add("device", &run_config::device, form{"cpu, cuda or cuda:N", is_device}, "",
             "Where the model computes; of several ranks each takes its own, so there without a number.")
        .add("seed", &run_config::seed, at_least(0), "",
             "Public randomness: adapter initialisation, the controller's exploration.");
}

}  // namespace

const std::vector<key>& schema() {
    static const auto keys = [] {
        std::vector<key> all;
        add_privacy(all);
        add_noise_and_clip(all);
        add_train(all);
        add_data_and_model(all);
        add_rl(all);
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

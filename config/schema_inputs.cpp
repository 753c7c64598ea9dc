#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/data_names.hpp"
#include "base/kinds.hpp"
#include "config/open_keys.hpp"
#include "config/schema_rows.hpp"

namespace rldp::config::rows {

namespace {

/// The whole of `text` as a number of that type.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
    Number number{};
    const auto end = text.data() + text.size();
    const auto [stop, status] = std::from_chars(text.data(), end, number);
    if (status != std::errc{} || stop != end) return std::nullopt;
    return number;
}

bool is_host_and_port(const std::string& text) {
    const auto colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) return false;
    return parse_number<std::uint16_t>(std::string_view(text).substr(colon + 1)).value_or(0) > 0;
}

bool is_port_or_address(const std::string& text) {
    return parse_number<std::uint16_t>(text).value_or(0) > 0 || is_host_and_port(text);
}

bool is_device(const std::string& text) {
    return is_device_name(text);
}

bool is_text(const std::string& text) {
    return !text.empty();
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

}  // namespace

void add_inputs(std::vector<key>& keys) {
    section(
        keys, "data.", [](auto& c) -> auto& { return c.data; })
        .add("path", &data_section::path,
             location{"the path of a CSV, JSONL or text file, synthetic:N[@WORLD], or -", names_no_file}, "",
             "The records: a CSV table, JSONL or text with one record per line; - for rows through a pipe, from "
             "standard input; or synthetic:N for N made-up encounters, synthetic:N@WORLD from a world where the same "
             "values have other frequencies.")
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
             "in the run's trusted/ until it ends; none for rows from a pipe");
    section(
        keys, "model.", [](auto& c) -> auto& { return c.model; })
        .add("path", &model_section::path, location{"the path of a model directory or a GGUF file"}, "",
             "A Hugging Face directory: config.json, model.safetensors, tokenizer. Or a GGUF file, which holds all "
             "three.")
        .add(
            "name", &model_section::name, form{"a line of up to 100 bytes", is_line}, "",
            "What others call it, such as HuggingFaceTB/SmolLM2-135M: the adapter names it as its base, and PEFT loads "
            "it by that.",
            "the Hub's, where path lies in its cache, else the directory's")
        .add("dtype", &model_section::dtype, any_of<precision>(), "",
             "Type of the frozen weights; tf32 is float32 with the products of a CUDA device in TensorFloat-32.")
        .add("quantize", &model_section::quantize, any_of<quantization>(), "",
             "Holds the weights of linear modules in blocks of 4 or 8 bits, made of the model's numbers as they are "
             "read: "
             "nf4 as in QLoRA, int8 as bitsandbytes has it, q4_0, q4_1 and q8_0 as in GGUF files. Adapters, norms, "
             "embedding and head stay as they are. Models that are quantized already are read as they are.")
        .add("checkpoint_activations", &model_section::checkpoint_activations, yes_or_no{}, "",
             "Keeps only the input of each layer for the backward pass and computes the rest again: less memory for "
             "about a third more time, and the same numbers.")
        .add("shard", &model_section::shard, yes_or_no{}, "",
             "For bases larger than one rank's memory: each of a run's ranks (rldp run --workers, or a launcher's) "
             "holds its share of the layers. It borrows the others, one ahead of their use. With one thread a rank "
             "the numbers are the same to the last bit.",
             "chosen: true where a rank could not hold all of them");
    section(
        keys, "lora.", [](auto& c) -> auto& { return c.lora; })
        .add("rank", &lora_section::rank, between(1, limits::largest_rank), "", "Rank of every adapter.")
        .tunable()
        .add("alpha", &lora_section::alpha, above(0), "", "An adapter's output is scaled by alpha/rank.")
        .tunable()
        .add("dropout", &lora_section::dropout, half_open(0, 1), "", "Dropout of an adapter's input.")
        .tunable()
        .add("targets", &lora_section::targets, form{"module names", is_name}, "",
             "The linear modules that get an adapter: q, k, v, o, all-linear, the end of a module's name, or a regular "
             "expression for the whole name.",
             "all-linear where memory allows, else q and v")
        .tunable();
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

void add_company(std::vector<key>& keys) {
    section(
        keys, "rl.", [](auto& c) -> auto& { return c.rl; })
        .add("state", &rl_section::state, any_of<controller_kind>(), "",
             "Who steers. prepared: a policy that was prepared on made-up tasks sets learning rates by what the "
             "releases show. schedule: nobody; the run is that of method static. "
             "published: the publication's controller, which learns in the run from statistics that are paid for.",
             "chosen: prepared for runs such as the shipped policy has seen, else schedule; published where a key is "
             "given that a schedule has no use for, and under as_published")
        .tunable()
        .add("controller", &rl_section::controller, location{"the path of a prepared policy"}, "",
             "The policy of rl.state prepared. It brings a schedule and an average of its own, around the mean rate "
             "train.lr.",
             "the one that ships, config/policies/language.safetensors")
        .add("signer", &rl_section::signer, location{"the path of a public key (rldp key new)"}, "",
             "Whose signature rl.controller must bear.", "anyone's, or none")
        .add("actions", &rl_section::actions, any_of<controller_action>(), "",
             "What the controller sets; shares needs noise.allocation shares.")
        .tunable()
        .add(
            "policy", &rl_section::policy, any_of<controller_mode>(), "",
            "learned improves while the run goes on, or is what preparation learned; by name, a prepared policy steers "
            "also where nobody vouches for it. Controls for experiments: frozen stays as it was initialised, or is the "
            "schedule of the preparation alone; random draws every action from a standard normal, or tosses the "
            "direction of each of a prepared policy's moves; shuffled shows that policy what a block drawn from those "
            "so far showed, and deaf sets what it set in its preparation, on average, by then.",
            "learned; where nobody vouches for a prepared policy, rl.state comes to schedule")
        .add("online", &rl_section::online, yes_or_no{}, "",
             "What the prepared policy adds to its rule goes on learning in the run (SAC), while steps are made, from "
             "the loss on 64 public records after each block; needs public.path. An experiment.")
        .add(
            "radius_scale", &rl_section::radius_scale, above_to(0, 100), "",
            "In the warm-up, and under clip_action delta, radii are relative to so many medians of the gradient norms.",
            fmt::format("{}, but {} under as_published", default_radius_scale(semantics::sound),
                        default_radius_scale(semantics::as_published)))
        .tunable()
        .add("rescale", &rl_section::rescale, yes_or_no{}, "",
             "Each group's released sum is divided by its radius, so that AdamW, whose memory is long, sees one scale "
             "while radii change.",
             "true, but false under as_published")
        .tunable()
        .add("interval", &rl_section::interval, between(1, most_steps), "steps", "T_RL: steps between decisions.",
             "chosen: a twelfth of the steps or so, or rl.controller's own")
        .add("warmup", &rl_section::warmup, between(0, most_steps), "steps",
             "T_warm: no decision before; afterwards the radii start from the released medians.",
             "chosen: rl.interval, one less under rl.controller")
        .tunable()
        .add("batch", &rl_section::batch, between(1, most_width), "transitions", "B_SAC: transitions per update.")
        .tunable()
        .add("updates", &rl_section::updates, between(1, 1000), "", "K: rounds of updates after each decision.")
        .tunable()
        .add("gamma", &rl_section::gamma, half_open(0, 1), "", "Discount of later rewards.")
        .tunable()
        .add("alpha", &rl_section::alpha, between(0, 1000), "", "Temperature: weight of the policy's entropy.")
        .tunable()
        .add("tau", &rl_section::tau, above_to(0, 1), "", "Rate at which the target critics follow (Polyak).")
        .tunable()
        .add("actor_lr", &rl_section::actor_lr, above_to(0, 1), "", "The actor's learning rate.")
        .tunable()
        .add("critic_lr", &rl_section::critic_lr, above_to(0, 1), "", "The critics' and the encoder's learning rate.")
        .tunable()
        .add("replay", &rl_section::replay, between(1, 1e7), "transitions", "The oldest transition goes first.")
        .tunable()
        .add("reward_floor", &rl_section::reward_floor, above(0), "",
             "R_max: rewards below its negative are raised to it.")
        .tunable()
        .add("clip_action", &rl_section::clip_action, any_of<clip_action>(), "",
             "Radii from the action alone (published), or relative to the tracked medians.")
        .tunable();
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

}  // namespace rldp::config::rows

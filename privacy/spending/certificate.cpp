#include "privacy/spending/certificate.hpp"

#include <fmt/format.h>

#include <cmath>
#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/error.hpp"
#include "base/strict_json.hpp"
#include "privacy/keys/digest.hpp"
#include "privacy/spending/ledger_format.hpp"

namespace rldp::privacy {
namespace {

using nlohmann::json;

const std::string declared = "declared by the owner", counted = "the number of training units, taken as public";

template <class T>
json written(const std::optional<T>& value) {
    return value ? json(*value) : json(nullptr);
}

std::optional<double> real_or_none(const json& value) {
    return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

/// How much rounding is covered, in words.
std::string describe_rounding(const contract& c) {
    if (c.rounding_margin == 0 && c.steps_between_probes == 0)
        return "nothing: every unit was computed alone, to the same bits in any company";
    return fmt::format("{:g} of every sensitivity is charged for it, and made-up records were probed every {} step{}",
                       c.rounding_margin, c.steps_between_probes, c.steps_between_probes == 1 ? "" : "s");
}

json to_object(const contract& c, int version) {
    json deck = json::array();
    for (const auto& card : c.deck)
        deck.push_back({{"noise_multiplier", card.noise_multiplier}, {"steps", card.steps}});
    json out = {{"guarantee", c.holds() ? "(epsilon, delta)-differential privacy of everything under public/ together"
                                        : "NO GUARANTEE"},
                {"no_guarantee_because", c.voids},
                {"exceptions", c.holds() ? list_exceptions(c) : std::vector<std::string>{}},
                {"adjacency", "add or remove one unit"},
                {"epsilon", written(c.epsilon_guaranteed)},
                {"epsilon_budget", written(c.epsilon_budget)},
                {"delta", c.delta},
                {"padding_delta", c.padding_delta},
                {"rounding_margin", c.rounding_margin},
                {"sample_rate", c.sample_rate},
                {"population", c.population},
                {"expected_batch_size", c.expected_batch_size},
                {"steps", c.steps},
                {"unit", c.unit},
                {"max_records_per_unit", written(c.max_records_per_unit)},
                {"pad_batches", c.pad_batches},
                {"policy", c.policy},
                {"accountant", c.accountant},
                {"split", c.split},
                {"deck", std::move(deck)}};
    if (version < 3) return out;
    if (version >= 5) out["bands"] = c.bands;
    if (version >= 6) out["runs"] = c.runs;
    if (version >= 4) {
        out["protects"] = protected_by(c);
        out["held_out"] = {{"published", name_of(c.held_out)},
                           {"looks", c.looks.count},
                           {"noise_multiplier", c.looks.noise_multiplier}};
    }
    out["population_is"] = describe_population(c);
    out["rounding"] = describe_rounding(c);
    out["steps_between_probes"] = c.steps_between_probes;
    return out;
}

contract contract_from(const json& in, int version) {
    contract c;
    c.voids = in.at("no_guarantee_because").get<std::vector<std::string>>();
    c.epsilon_guaranteed = real_or_none(in.at("epsilon"));
    c.epsilon_budget = real_or_none(in.at("epsilon_budget"));
    in.at("delta").get_to(c.delta);
    in.at("padding_delta").get_to(c.padding_delta);
    in.at("rounding_margin").get_to(c.rounding_margin);
    in.at("sample_rate").get_to(c.sample_rate);
    c.population = to_integer(in.at("population"));
    c.expected_batch_size = to_integer(in.at("expected_batch_size"));
    c.steps = to_integer(in.at("steps"));
    in.at("unit").get_to(c.unit);
    if (const auto& most = in.at("max_records_per_unit"); !most.is_null()) c.max_records_per_unit = to_integer(most);
    in.at("pad_batches").get_to(c.pad_batches);
    in.at("policy").get_to(c.policy);
    in.at("accountant").get_to(c.accountant);
    in.at("split").get_to(c.split);
    for (const auto& card : in.at("deck"))
        c.deck.push_back({card.at("noise_multiplier").get<double>(), to_integer(card.at("steps"))});
    if (version < 3) return c;
    c.population_declared = in.at("population_is").get<std::string>() == declared;
    c.steps_between_probes = to_integer(in.at("steps_between_probes"));
    if (version < 4) return c;
    const auto& held_out = in.at("held_out");
    c.held_out = parse_named<publication>(held_out.at("published").get<std::string>());
    c.looks.count = to_integer(held_out.at("looks"));
    held_out.at("noise_multiplier").get_to(c.looks.noise_multiplier);
    if (version >= 5) c.bands = to_integer(in.at("bands"));
    if (version >= 6) c.runs = to_integer(in.at("runs"));
    return c;
}

/// The header that a contract with a guarantee came from, as far as pricing needs it.
ledger_header make_header(const contract& c) {
    ledger_header out;
    out.delta = c.delta;
    out.padding_delta = c.padding_delta;
    out.rounding_margin = c.rounding_margin;
    out.sample_rate = c.sample_rate;
    out.population = c.population;
    out.steps = c.steps;
    out.policy = c.policy;
    out.accountant = c.accountant;
    out.unit = c.unit;
    out.split = c.split;
    out.deck = c.deck;
    out.epsilon_budget = c.epsilon_budget.value();
    out.epsilon_guaranteed = c.epsilon_guaranteed.value();
    out.held_out = c.held_out;
    out.looks = c.looks;
    out.bands = c.bands;
    out.runs = c.runs;
    return out;
}

void validate(const contract& c) {
    refuse_unless(c.holds() == c.voids.empty() && c.holds() == c.epsilon_budget.has_value(),
                  "an ε stands beside reasons why nothing is guaranteed, or is missing without one");
    refuse_unless(c.expected_batch_size >= 1 && c.population >= 1 &&
                      c.sample_rate == static_cast<double>(c.expected_batch_size) / static_cast<double>(c.population),
                  fmt::format("expected_batch_size/population is {}/{}, which is not sample_rate {}",
                              c.expected_batch_size, c.population, c.sample_rate));
    refuse_unless(c.pad_batches || c.padding_delta == 0, "padding_delta is charged without pad_batches");
    refuse_unless(c.max_records_per_unit.value_or(1) >= 1, "max_records_per_unit must be at least 1");
    refuse_unless(c.steps_between_probes >= 0, "steps_between_probes must not be negative");
    if (c.holds()) detail::validate(make_header(c));
}

json body(const certificate& given) {
    json out = {{"version", given.version},
                {"run", given.run},
                {"program", given.program},
                {"contract", to_object(given.promised, given.version)},
                {"ledger_head", given.ledger_head},
                {"files", given.files},
                {"authenticity", authenticity(given)},
                {"public_key", given.signer ? json(given.signer->hex()) : json(nullptr)}};
    if (given.version >= 7) {
        out["attack_risk"] = given.risk ? to_object(*given.risk) : json(nullptr);
        out["data"] = given.data;
        out["in_book"] = given.in_book;
    }
    return out;
}

json hashed(const certificate& given) {
    auto out = body(given);
    out["hash"] = sha256(out.dump());
    return out;
}

/// What is signed: all of it, and no signature.
std::string message(const certificate& given) {
    auto out = hashed(given);
    out["signature"] = nullptr;
    return out.dump();
}

certificate read_certificate(std::string_view text) {
    const auto in = json::parse(text, nullptr, false);
    refuse_unless(in.is_object() && in.contains("contract"), "not a certificate");
    const auto version = to_integer(in.at("version"));
    refuse_unless(version >= certificate::oldest_version && version <= certificate::current_version,
                  fmt::format("certificate version {} is unknown, this program knows {} to {}; use the program that "
                              "wrote it",
                              version, certificate::oldest_version, certificate::current_version));
    certificate out;
    out.version = static_cast<int>(version);
    out.promised = contract_from(in.at("contract"), out.version);
    if (version >= 7) {
        if (!in.at("attack_risk").is_null()) out.risk = risk_from(in.at("attack_risk"));
        in.at("data").get_to(out.data);
        in.at("in_book").get_to(out.in_book);
    }
    in.at("run").get_to(out.run);
    in.at("program").get_to(out.program);
    in.at("ledger_head").get_to(out.ledger_head);
    in.at("files").get_to(out.files);
    if (const auto& key = in.at("public_key"); !key.is_null())
        out.signer = verifying_key::from_hex(key.get<std::string>());
    if (const auto& signature = in.at("signature"); !signature.is_null()) out.signature = signature.get<std::string>();

    validate(out.promised);
    refuse_unless(version < 7 || out.risk.has_value() == out.promised.holds(),
                  "attack_risk stands where nothing is guaranteed, or is missing where something is");
    // To the byte what is written for the values that were read, and so its own hash, too.
    refuse_unless(text == to_json(out), "its text is not what its numbers and hash give: it was edited or damaged");
    refuse_unless(out.signer.has_value() == !out.signature.empty(),
                  "public_key and signature are given together, or neither");
    if (out.signer)
        refuse_unless(out.signer->accepts(message(out), out.signature),
                      fmt::format("its signature is not that of key {}: it was edited after signing, or damaged",
                                  out.signer->fingerprint()));
    return out;
}

}  // namespace

contract make_contract(const ledger_header& header) {
    contract out;
    out.voids = header.guarantee().voids();
    if (out.voids.empty()) {
        out.epsilon_guaranteed = header.epsilon_guaranteed;
        out.epsilon_budget = header.epsilon_budget;
    }
    out.delta = header.delta;
    out.padding_delta = header.padding_delta;
    out.rounding_margin = header.rounding_margin;
    out.sample_rate = header.sample_rate;
    out.population = header.population;
    out.steps = header.steps;
    out.unit = header.unit;
    out.policy = header.policy;
    out.accountant = header.accountant;
    out.split = header.split;
    out.deck = header.deck;
    out.held_out = header.held_out;
    out.looks = header.looks;
    out.bands = header.bands;
    out.runs = header.runs;
    return out;
}

std::string_view protected_by(publication held_out) {
    return held_out == publication::raw ? "the training units" : "every unit of the file";
}

std::string_view protected_by(const contract& promised) {
    return protected_by(promised.held_out);
}

std::vector<std::string> list_exceptions(const contract& promised) {
    std::vector<std::string> out;
    if (promised.held_out == publication::raw)
        out.emplace_back(
            "Held-out perplexity (in metrics, summary and report) tells about the evaluation records, which were not "
            "trained on.");
    if (!promised.pad_batches)
        out.emplace_back(
            "Running time: whoever can time the steps, or ends the run by a clock, learns about the sizes of batches.");
    out.insert(out.end(),
               {promised.runs == 1
                    ? "Other runs on the same data: each has a budget of its own, and at best they add up."
                    : fmt::format("Other runs on the same data than the {} of this one's tuning, which the promise is "
                                  "for together: each has a budget of its own, and at best they add up.",
                                  promised.runs),
                "Audits and planted canaries read training records by design; their results are for the owner alone.",
                "Running out of memory: a run that ends so tells that a batch was large.",
                "Whatever is under trusted/, and whoever can read the memory of the machine while it trains."});
    if (promised.steps_between_probes > 0)
        out.emplace_back(
            "Rounding on the device: who else was drawn may move a unit's last bits. What is charged for it was "
            "watched "
            "with made-up records during the run, which is evidence and no proof.");
    if (promised.split == "exact")
        out.emplace_back(
            "The split into training and evaluation: an exact one depends on all records, and the contract holds for "
            "the split as it is.");
    return out;
}

std::string describe_population(const contract& promised) {
    return promised.population_declared ? declared : counted;
}

std::string authenticity(const certificate& given) {
    return given.signer ? "signed by key " + given.signer->fingerprint()
                        : std::string("unsigned: detects accidents, not forgery");
}

std::string to_json(const certificate& given) {
    auto out = hashed(given);
    out["signature"] = given.signature.empty() ? json(nullptr) : json(given.signature);
    return out.dump() + "\n";
}

std::string first_difference(const certificate& here, const certificate& there) {
    const auto ours = body(here).flatten(), theirs = body(there).flatten();
    const auto shown = [](const json& all, const std::string& key) {
        return all.contains(key) ? all.at(key).dump() : std::string("nothing");
    };
    for (const auto* all : {&ours, &theirs})
        for (const auto& [key, value] : all->items())
            if (const auto a = shown(ours, key), b = shown(theirs, key); a != b)
                return fmt::format("{}: {} here, {} there", key.substr(1), a, b);
    return {};
}

void sign(certificate& made, const signing_key& by) {
    made.signer = by.public_half();
    made.signature = by.sign(message(made));
}

certificate parse_certificate(std::string_view text, const std::string& origin) try {
    return read_certificate(text);
} catch (const nlohmann::json::exception& e) {
    refuse(fmt::format("{}: not a certificate ({})", origin, e.what()));
} catch (const std::exception& e) {
    refuse(fmt::format("{}: {}", origin, e.what()));
}

ledger_verdict verify(const contract& promised) {
    ledger_content content;
    content.header = make_header(promised);
    content.dealt.resize(promised.deck.size());
    return verify(content);
}

void check_risk(const risk_statement& claimed, const contract& promised) {
    check_risk(claimed, make_header(promised));
}

}  // namespace rldp::privacy

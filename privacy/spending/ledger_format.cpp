#include "privacy/spending/ledger_format.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "base/kinds.hpp"
#include "base/strict_json.hpp"
#include "privacy/accounting/bands.hpp"
#include "privacy/keys/digest.hpp"

namespace rldp::privacy::detail {

namespace {

using nlohmann::json;

json from_real(double value) {
    return std::isinf(value) && value > 0 ? json("inf") : json(value);
}

double real(const json& value) {
    return value == "inf" ? std::numeric_limits<double>::infinity() : value.get<double>();
}

/// nlohmann's default object is a std::map: its dump has sorted keys and no spaces.
std::string seal(json line, std::string& hash) {
    hash = sha256(line.dump());
    line["hash"] = hash;
    return line.dump();
}

/// The line must be, to the byte, what is written for the value that was read from it.
void check_canonical(std::string_view text, const json& line, const std::string& canonical, const std::string& hash) {
    refuse_unless(line.at("hash") == hash, "its hash is not that of its text: the line was edited");
    refuse_unless(text == canonical, "not in canonical form: the line was edited");
}

json parse_object(std::string_view text) {
    json line = json::parse(text, nullptr, false);
    refuse_unless(line.is_object(), "not a JSON object");
    return line;
}

}  // namespace

std::string format(const ledger_header& header, std::string& hash) {
    json deck = json::array();
    for (const auto& card : header.deck) {
        deck.push_back({{"noise_multiplier", card.noise_multiplier}, {"steps", card.steps}});
    }
    json line = {{"version", header.version},
                 {"delta", header.delta},
                 {"padding_delta", header.padding_delta},
                 {"rounding_margin", header.rounding_margin},
                 {"sample_rate", header.sample_rate},
                 {"population", header.population},
                 {"steps", header.steps},
                 {"policy", header.policy},
                 {"accountant", header.accountant},
                 {"semantics", name_of(header.semantics)},
                 {"unit", header.unit},
                 {"split", header.split},
                 {"deck", std::move(deck)},
                 {"epsilon", from_real(header.epsilon_budget)},
                 {"guaranteed_epsilon", from_real(header.epsilon_guaranteed)},
                 {"data_hmac", header.data_hmac},
                 {"insecure_reproducible", header.insecure_reproducible}};
    if (header.version >= 3) {
        line["held_out"] = name_of(header.held_out);
        line["looks"] = {{"count", header.looks.count}, {"noise_multiplier", header.looks.noise_multiplier}};
    }
    if (header.version >= 4) line["bands"] = header.bands;
    if (header.version >= 5) line["runs"] = header.runs;
    return seal(std::move(line), hash);
}

std::string format(look_line& line) {
    return seal(
        {{"look", line.look}, {"step", line.step}, {"noise_multiplier", line.noise_multiplier}, {"prev", line.prev}},
        line.hash);
}

std::string format(ledger_line& line) {
    return seal({{"seq", line.seq},
                 {"step", line.step},
                 {"noise_multiplier", line.noise_multiplier},
                 {"sample_rate", line.sample_rate},
                 {"card", line.card ? json(*line.card) : json(nullptr)},
                 {"prev", line.prev}},
                line.hash);
}

header_line parse_header(std::string_view text) try {
    const json line = parse_object(text);
    header_line out;
    auto& header = out.header;
    header.version = to_integer<int>(line.at("version"));
    refuse_unless(
        header.version <= ledger_header::current_version,
        fmt::format(
            "ledger version {} is newer than {}, the newest that this program knows; use the program that wrote it",
            header.version, ledger_header::current_version));
    refuse_unless(header.version >= ledger_header::oldest_version,
                  fmt::format("ledger version {} is older than {}; use the program that wrote it", header.version,
                              ledger_header::oldest_version));
    line.at("delta").get_to(header.delta);
    line.at("padding_delta").get_to(header.padding_delta);
    line.at("rounding_margin").get_to(header.rounding_margin);
    line.at("sample_rate").get_to(header.sample_rate);
    header.population = to_integer(line.at("population"));
    header.steps = to_integer(line.at("steps"));
    line.at("policy").get_to(header.policy);
    line.at("accountant").get_to(header.accountant);
    header.semantics = parse_named<semantics>(line.at("semantics").get<std::string>());
    line.at("unit").get_to(header.unit);
    line.at("split").get_to(header.split);
    for (const auto& card : line.at("deck")) {
        header.deck.push_back({card.at("noise_multiplier").get<double>(), to_integer(card.at("steps"))});
    }
    header.epsilon_budget = real(line.at("epsilon"));
    header.epsilon_guaranteed = real(line.at("guaranteed_epsilon"));
    line.at("data_hmac").get_to(header.data_hmac);
    line.at("insecure_reproducible").get_to(header.insecure_reproducible);
    if (header.version >= 3) {
        header.held_out = parse_named<publication>(line.at("held_out").get<std::string>());
        header.looks.count = to_integer(line.at("looks").at("count"));
        line.at("looks").at("noise_multiplier").get_to(header.looks.noise_multiplier);
    }
    if (header.version >= 4) header.bands = to_integer(line.at("bands"));
    if (header.version >= 5) header.runs = to_integer(line.at("runs"));
    const auto canonical = format(header, out.hash);
    check_canonical(text, line, canonical, out.hash);
    return out;
} catch (const nlohmann::json::exception& e) {
    throw std::runtime_error(fmt::format("not a ledger's header ({})", e.what()));
}

ledger_line parse_line(std::string_view text) try {
    const json line = parse_object(text);
    ledger_line out{};
    out.seq = to_integer<std::uint64_t>(line.at("seq"));
    out.step = to_integer(line.at("step"));
    line.at("noise_multiplier").get_to(out.noise_multiplier);
    line.at("sample_rate").get_to(out.sample_rate);
    if (const auto& card = line.at("card"); !card.is_null()) out.card = to_integer<std::size_t>(card);
    line.at("prev").get_to(out.prev);
    const auto canonical = format(out);
    check_canonical(text, line, canonical, out.hash);
    return out;
} catch (const nlohmann::json::exception& e) {
    throw std::runtime_error(fmt::format("not a charge ({})", e.what()));
}

bool is_look(std::string_view text) {
    return json::parse(text, nullptr, false).contains("look");
}

look_line parse_look(std::string_view text) try {
    const json line = parse_object(text);
    look_line out{};
    out.look = to_integer(line.at("look"));
    out.step = to_integer(line.at("step"));
    line.at("noise_multiplier").get_to(out.noise_multiplier);
    line.at("prev").get_to(out.prev);
    const auto canonical = format(out);
    check_canonical(text, line, canonical, out.hash);
    return out;
} catch (const nlohmann::json::exception& e) {
    throw std::runtime_error(fmt::format("not a look ({})", e.what()));
}

namespace {

void validate_looks(const ledger_header& header) {
    const auto& looks = header.looks;
    refuse_unless(
        header.held_out == publication::noised ? looks.count >= 1 : looks.count == 0,
        fmt::format("{} looks at held-out units, of which \"{}\" is published", looks.count, name_of(header.held_out)));
    // Without noise only where nothing is promised anyway.
    refuse_unless(looks.count == 0 ? looks.noise_multiplier == 0
                                   : is_positive(looks.noise_multiplier) ||
                                         (looks.noise_multiplier == 0 && std::isinf(header.epsilon_guaranteed)),
                  fmt::format("looks: noise_multiplier must be finite and positive, not {}", looks.noise_multiplier));
}

}  // namespace

void validate(const ledger_header& header) {
    refuse_unless(header.version >= ledger_header::oldest_version && header.version <= ledger_header::current_version,
                  fmt::format("version {} is unknown", header.version));
    validate_looks(header);
    refuse_unless(header.delta > 0 && header.delta < 1, fmt::format("delta must be in (0, 1), not {}", header.delta));
    refuse_unless(header.padding_delta >= 0 && header.padding_delta < header.delta,
                  fmt::format("padding_delta must be in [0, delta), not {}", header.padding_delta));
    refuse_unless(header.rounding_margin >= 0 && header.rounding_margin < 1,
                  fmt::format("rounding_margin must be in [0, 1), not {}", header.rounding_margin));
    refuse_unless(header.sample_rate > 0 && header.sample_rate <= 1,
                  fmt::format("sample_rate must be in (0, 1], not {}", header.sample_rate));
    refuse_unless(header.population >= 1, fmt::format("population must be at least 1, not {}", header.population));
    refuse_unless(header.steps >= 1, fmt::format("steps must be at least 1, not {}", header.steps));
    check_bands(header.bands, {header.sample_rate, header.steps, header.population}, "bands");
    refuse_unless(header.bands == 1 || header.policy == name_of(policy_kind::fixed),
                  fmt::format("{} bands beside policy {}, which is proven for one", header.bands, header.policy));
    refuse_unless(header.runs >= 1 && header.runs <= most_runs,
                  fmt::format("runs must be from 1 to {}, not {}", most_runs, header.runs));
    // Not finite only under as_published or without a budget, and then it says so.
    refuse_unless(header.epsilon_budget > 0, fmt::format("epsilon must be positive, not {}", header.epsilon_budget));
    refuse_unless(header.epsilon_guaranteed >= 0,
                  fmt::format("guaranteed_epsilon must not be negative, not {}", header.epsilon_guaranteed));
    for (const auto& card : header.deck) {
        refuse_unless(is_positive(card.noise_multiplier) && card.steps >= 1,
                      fmt::format("a card needs a positive noise multiplier and steps, not {} and {}",
                                  card.noise_multiplier, card.steps));
    }
}

namespace {

void check_chain(const std::string& prev, const ledger_content& before) {
    refuse_unless(prev == before.last_hash,
                  "prev is not the hash of the line before: a line was removed, added or edited");
}

std::int64_t last_step(const ledger_content& before) {
    return before.charges.empty() ? 0 : before.charges.at(before.charges.size() - 1).step;
}

}  // namespace

void validate(const look_line& next, const ledger_content& before) {
    const auto& planned = before.header.looks;
    check_chain(next.prev, before);
    refuse_unless(next.look == std::ssize(before.looks) + 1,
                  fmt::format("look {} was expected, not {}", before.looks.size() + 1, next.look));
    refuse_unless(next.look <= planned.count,
                  fmt::format("look {} is beyond the {} that the budget pays for", next.look, planned.count));
    refuse_unless(next.step == last_step(before),
                  fmt::format("a look at step {} stands after step {}", next.step, last_step(before)));
    refuse_unless(before.looks.empty() || next.step > before.looks.back()->step,
                  fmt::format("step {} is looked at twice", next.step));
    refuse_unless(next.noise_multiplier == planned.noise_multiplier,
                  fmt::format("noise_multiplier is {}, the header's for looks is {}", next.noise_multiplier,
                              planned.noise_multiplier));
}

void validate(const ledger_line& next, const ledger_content& before) {
    const auto& header = before.header;
    const auto& charges = before.charges;
    refuse_unless(next.seq == charges.size() + 1,
                  fmt::format("seq {} was expected, not {}", charges.size() + 1, next.seq));
    check_chain(next.prev, before);
    const auto last = last_step(before);
    refuse_unless(next.step > last, fmt::format("step {} comes after step {}", next.step, last));
    refuse_unless(next.step <= header.steps, fmt::format("step {} is beyond the {} planned", next.step, header.steps));
    refuse_unless(is_positive(next.noise_multiplier),
                  fmt::format("noise_multiplier must be finite and positive, not {}", next.noise_multiplier));
    refuse_unless(next.sample_rate == header.step_rate(),
                  fmt::format("sample_rate is {}, the plan's is {}", next.sample_rate, header.step_rate()));
    // The guarantee is the deck as a multiset: every step must be one of a card, and no card more often than planned.
    refuse_unless(next.card.has_value() == !header.deck.empty(),
                  "a charge names a card exactly where the header has a deck");
    if (!next.card) return;
    refuse_unless(*next.card < header.deck.size(),
                  fmt::format("card {} of {} does not exist", *next.card, header.deck.size()));
    const auto& card = header.deck[*next.card];
    refuse_unless(next.noise_multiplier == card.noise_multiplier,
                  fmt::format("noise_multiplier is {}, card {} says {}", next.noise_multiplier, *next.card,
                              card.noise_multiplier));
    refuse_unless(before.dealt[*next.card] < card.steps,
                  fmt::format("card {} was used up after {} steps", *next.card, card.steps));
}

}  // namespace rldp::privacy::detail

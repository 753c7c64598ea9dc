#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "privacy/accounting/bands.hpp"
#include "privacy/spending/charges.hpp"
#include "privacy/spending/ledger.hpp"
#include "privacy/spending/ledger_format.hpp"

namespace rldp::privacy {

void charge_list::push_back(const charge& next) {
    require(next->seq == size() + 1, "charges: not the next one");
    const auto card = next->card ? std::optional(static_cast<std::uint32_t>(*next->card)) : std::nullopt;
    kept_.push_back({next->step, next->noise_multiplier, next->sample_rate, card, sha256_from(next->prev),
                     sha256_from(next->hash)});
}

charge charge_list::operator[](std::size_t i) const {
    const auto& kept = at(i);
    return charge({.seq = i + 1,
                   .step = kept.step,
                   .noise_multiplier = kept.noise_multiplier,
                   .sample_rate = kept.sample_rate,
                   .card = kept.card,
                   .prev = to_hex(kept.prev),
                   .hash = to_hex(kept.hash)});
}

namespace {

/// One more step, joined to the last run where they are equal.
void add_step(std::vector<phase>& to, double noise_multiplier, double sample_rate) {
    if (!to.empty() && to.back().noise_multiplier == noise_multiplier && to.back().sample_rate == sample_rate)
        ++to.back().steps;
    else
        to.push_back({noise_multiplier, sample_rate, 1});
}

/// In several bands so many steps, one after another, are as many rounds as they begin.
std::vector<phase> to_rounds_of(std::vector<phase> steps, std::int64_t bands) {
    for (auto& each : steps) each.steps = to_rounds(bands, 1, 1, each.steps).steps;
    return steps;
}

}  // namespace

double ledger_header::step_rate() const {
    return compute_group_rate(bands, sample_rate);
}

spending_plan to_spending_plan(const ledger_header& header) {
    return {.epsilon_budget = header.epsilon_budget,
            .delta = header.mechanism_delta(),
            .sample_rate = header.sample_rate,
            .steps = header.steps,
            .interval = 1,
            .accountant = header.accountant,
            .bands = header.bands,
            .runs = header.runs};
}

std::vector<phase> ledger_content::phases(std::size_t count) const {
    std::vector<phase> out;
    for (std::size_t i = 0; i < count; ++i) add_step(out, charges.at(i).noise_multiplier, charges.at(i).sample_rate);
    return to_rounds_of(std::move(out), header.bands);
}

std::vector<phase> ledger_content::phases() const {
    std::vector<phase> out;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < charges.size(); ++i) {
        add_step(out, charges.at(i).noise_multiplier, charges.at(i).sample_rate);
        least = std::min(least, charges.at(i).noise_multiplier);
    }
    for (const auto& planned : header.deck) least = std::min(least, planned.noise_multiplier);
    if (torn && least < std::numeric_limits<double>::infinity()) add_step(out, least, header.step_rate());
    return to_rounds_of(std::move(out), header.bands);
}

ledger_mark ledger_content::end() const {
    return {charges.size(), last_hash};
}

std::size_t ledger_content::charges_through(std::int64_t step) const {
    std::size_t from = 0, to = charges.size();
    while (from < to) {
        const auto middle = from + (to - from) / 2;
        if (charges.at(middle).step <= step)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

std::string ledger_content::find_hash(std::int64_t step) const {
    if (step == 0) return header_hash;
    const auto count = charges_through(step);
    return count > 0 && charges.at(count - 1).step == step ? to_hex(charges.at(count - 1).hash) : std::string();
}

bool ledger_content::holds(const ledger_mark& mark) const {
    if (mark.hash == header_hash) return true;
    if (mark.seq > 0 && mark.seq <= charges.size() && mark.hash == to_hex(charges.at(mark.seq - 1).hash)) return true;
    return std::any_of(looks.begin(), looks.end(), [&](const look_charge& made) { return made->hash == mark.hash; });
}

const look_charge* ledger_content::look_at(std::int64_t step) const {
    const auto found =
        std::find_if(looks.begin(), looks.end(), [&](const look_charge& made) { return made->step == step; });
    return found == looks.end() ? nullptr : &*found;
}

ledger_content ledger::parse(std::string_view text, const std::string& origin) {
    ledger_content content;
    std::size_t at = 0;
    for (std::size_t number = 1;; ++number) {
        const auto end = text.find('\n', at);
        if (end == std::string::npos) break;
        const auto line = text.substr(at, end - at);
        try {
            if (number == 1) {
                auto first = detail::parse_header(line);
                detail::validate(first.header);
                content.header = std::move(first.header);
                content.header_hash = content.last_hash = std::move(first.hash);
                content.dealt.resize(content.header.deck.size());
            } else if (detail::is_look(line)) {
                auto next = detail::parse_look(line);
                detail::validate(next, content);
                accept(content, std::move(next));
            } else {
                auto next = detail::parse_line(line);
                detail::validate(next, content);
                accept(content, std::move(next));
            }
        } catch (const std::exception& e) {
            refuse(fmt::format("{}: line {}: {}", origin, number, e.what()));
        }
        at = end + 1;
    }
    if (at == 0) refuse(origin + ": line 1: no whole header, so nothing was ever charged; start the run anew");
    content.torn = at < text.size();
    content.whole_bytes = at;
    return content;
}

ledger_content read_ledger(const std::filesystem::path& path) {
    return ledger::parse(read_file(path), path.string());
}

ledger_copy::ledger_copy(std::string_view text) : content_(ledger::parse(text, "the ledger of rank 0")) {}

charge ledger_copy::add(std::string_view text) {
    try {
        for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
            auto look = detail::parse_look(text.substr(0, end));
            text.remove_prefix(end + 1);
            if (look.look <= std::ssize(content_.looks)) continue;  // it stood in the ledger so far
            detail::validate(look, content_);
            ledger::accept(content_, std::move(look));
        }
        auto next = detail::parse_line(text);
        detail::validate(next, content_);
        return ledger::accept(content_, std::move(next));
    } catch (const std::exception& e) {
        refuse(fmt::format("the ledger of rank 0: its next line: {}", e.what()));
    }
}

std::string format_charge(const charge& charged) {
    std::string out;
    for (auto look : *charged.before_) out += detail::format(look) + "\n";
    auto line = *charged.operator->();
    return out + detail::format(line);
}

ledger::ledger(append_file file, ledger_content content) : file_(std::move(file)), content_(std::move(content)) {}

charge ledger::accept(ledger_content& content, ledger_line line, std::vector<look_line> before) {
    if (line.card) ++content.dealt[*line.card];
    content.last_hash = line.hash;
    charge made(std::move(line), std::move(before));
    content.charges.push_back(made);
    return made;
}

void ledger::accept(ledger_content& content, look_line line) {
    content.last_hash = line.hash;
    content.looks.push_back(look_charge(std::move(line)));
}

ledger ledger::create(const std::filesystem::path& path, const ledger_header& header) {
    ledger_content content;
    content.header = header;
    content.dealt.resize(header.deck.size());
    std::string line;
    try {
        detail::validate(header);
        line = detail::format(header, content.header_hash) + "\n";
        content.last_hash = content.header_hash;
    } catch (const std::exception& e) {
        refuse(fmt::format("{}: can't begin a ledger: {}", path.string(), e.what()));
    }
    append_file file(path);
    if (file.size() > 0) refuse(path.string() + ": exists already; resume that run or choose another directory");
    file.append(line);
    content.whole_bytes = file.size();
    return ledger(std::move(file), std::move(content));
}

ledger ledger::open(const std::filesystem::path& path) {
    if (!std::filesystem::exists(path)) refuse(path.string() + ": no such ledger");
    append_file file(path);  // the lock first: nobody writes between reading and going on
    file.sync();             // a kill may have come between a line and its fsync; what is built on it must be durable
    return ledger(std::move(file), read_ledger(path));
}

charge ledger::append(std::int64_t step, double noise_multiplier, double sample_rate, std::optional<std::size_t> card) {
    const auto& charges = content_.charges;
    ledger_line next{charges.size() + 1, step, noise_multiplier, sample_rate, card, content_.last_hash, {}};
    std::string line;
    try {
        detail::validate(next, content_);
        line = detail::format(next) + "\n";
    } catch (const std::exception& e) {
        refuse(fmt::format("step {} can't be charged: {}", step, e.what()));
    }
    write(line);
    std::vector<look_line> before;
    const auto last = charges.empty() ? 0 : charges.back()->step;
    for (const auto& made : content_.looks)
        if (made->step == last) before.push_back(*made.operator->());
    return accept(content_, std::move(next), std::move(before));
}

const look_charge& ledger::append_look(std::int64_t step) {
    look_line next{
        std::ssize(content_.looks) + 1, step, content_.header.looks.noise_multiplier, content_.last_hash, {}};
    std::string line;
    try {
        detail::validate(next, content_);
        line = detail::format(next) + "\n";
    } catch (const std::exception& e) {
        refuse(fmt::format("a look at step {} can't be charged: {}", step, e.what()));
    }
    write(line);
    accept(content_, std::move(next));
    return content_.looks.back();
}

void ledger::write(const std::string& line) {
    // A torn line stays in the file, and counted, until the charge that replaces it is written.
    if (file_.size() > content_.whole_bytes) file_.truncate(content_.whole_bytes);
    file_.append(line);
    content_.whole_bytes = file_.size();
    content_.torn = false;
}

}  // namespace rldp::privacy

#include "run/artifacts/run_log.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"

namespace rldp::eval {

namespace {

/// What is wrong with a line that is not of the run whose ledger that is; empty: nothing, or it names none.
std::string foreign(const std::filesystem::path& path, const stored_line& one, const privacy::ledger_content& ledger) {
    if (one.line.ledger.empty()) return {};
    const auto own = ledger.find_hash(one.line.step);
    if (one.line.ledger == own) return {};
    return fmt::format("{}:{}: is of another run: it names line {:.12}… of a ledger, {}", path.string(), one.number,
                       one.line.ledger,
                       own.empty() ? fmt::format("and this run charged no step {}", one.line.step)
                                   : fmt::format("and step {} is line {:.12}… here", one.line.step, own));
}

}  // namespace

found_log find_log(const std::filesystem::path& path, const privacy::ledger_content& ledger, std::int64_t last) {
    found_log out;
    if (!std::filesystem::exists(path))
        out.wrong = path.string() + ": is missing";
    else
        each_line(path, [&](stored_line& one) {
            if (one.damage.empty() && one.line.step > last) return;
            if (one.damage.empty()) one.damage = foreign(path, one, ledger);
            if (!one.damage.empty()) {
                if (out.wrong.empty()) out.wrong = one.damage;
                return;
            }
            add(out.lines, std::move(one.line));
        });
    std::int64_t step = 1;
    for (const auto& line : out.lines) {
        for (; step < line.step; ++step) out.missing.push_back(step);
        step = line.step + 1;
    }
    for (; step <= last; ++step) out.missing.push_back(step);
    return out;
}

metrics_line lost_line(const privacy::ledger_content& ledger, std::int64_t step) {
    metrics_line out;
    out.step = step;
    out.ledger = ledger.find_hash(step);
    out.lost = true;
    return out;
}

std::string steps_in_words(const std::vector<std::int64_t>& steps) {
    std::vector<std::string> parts;
    for (std::size_t from = 0, to; from < steps.size(); from = to) {
        to = from + 1;
        while (to < steps.size() && steps[to] == steps[to - 1] + 1) ++to;
        parts.push_back(to - from == 1 ? fmt::format("{}", steps[from])
                                       : fmt::format("{} to {}", steps[from], steps[to - 1]));
    }
    constexpr std::size_t most = 8;
    if (parts.size() > most) {
        parts[most - 1] = fmt::format("{} more", parts.size() - most + 1);
        parts.resize(most);
    }
    std::string out = steps.size() == 1 ? "step " : "steps ";
    for (std::size_t i = 0; i < parts.size(); ++i)
        out += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
    return out;
}

checked_log check_log(const std::filesystem::path& path, const privacy::ledger_content& ledger) {
    checked_log out;
    if (!std::filesystem::exists(path))
        refuse(fmt::format("{}: is missing; it has a line for each of the {} steps charged", path.string(),
                           ledger.charges.size()));
    const auto& charges = ledger.charges;
    each_line(path, [&](stored_line& one) {
        const auto& line = one.line;
        if (one.damage.empty()) one.damage = foreign(path, one, ledger);
        if (!one.damage.empty()) refuse(one.damage);
        if (line.ledger.empty()) ++out.unnamed;
        if (line.lost) out.lost.push_back(line.step);
        if (line.step == 0 && one.number == 1) return;
        const bool more = out.steps < charges.size();
        if (const auto due = more ? charges.at(out.steps).step : 0; !more || line.step != due)
            refuse(fmt::format("{}:{}: is step {}'s, where {}: lines were lost, doubled or moved", path.string(),
                               one.number, line.step,
                               more ? fmt::format("step {}'s is due", due)
                                    : fmt::format("the ledger has charged {} steps", charges.size())));
        ++out.steps;
    });
    if (out.steps < charges.size())
        refuse(fmt::format("{}: has lines of {} steps, and the ledger charged {}: lines were lost", path.string(),
                           out.steps, charges.size()));
    return out;
}

}  // namespace rldp::eval

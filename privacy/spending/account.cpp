#include "privacy/spending/account.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "privacy/keys/digest.hpp"
#include "privacy/keys/random.hpp"
#include "privacy/spending/book_files.hpp"
#include "privacy/spending/ledger_format.hpp"

namespace rldp::privacy {

namespace {

namespace fs = std::filesystem;

/// Without its end; sets its hash.
std::string to_line(run_account::entry& of) {
    nlohmann::json line = {{"run", of.run}, {"ledger", of.ledger}, {"prev", of.prev}};
    of.hash = sha256(line.dump());
    line["hash"] = of.hash;
    return line.dump();
}

/// Of a directory below the account's.
bool is_run_name(const std::string& name) {
    const fs::path path(name);
    return is_utf8(name) && !name.empty() && name != "." && path.is_relative() &&
           std::find(path.begin(), path.end(), "..") == path.end();
}

run_account::entry parse_entry(std::string_view text) {
    const auto line = nlohmann::json::parse(text, nullptr, false);
    refuse_unless(line.is_object(), "not a JSON object");
    run_account::entry out;
    try {
        line.at("run").get_to(out.run);
        line.at("ledger").get_to(out.ledger);
        line.at("prev").get_to(out.prev);
    } catch (const nlohmann::json::exception&) {
        refuse("names no run");
    }
    refuse_unless(is_run_name(out.run), "names no run below the account's directory");
    refuse_unless(to_line(out) == text, "not in canonical form, or its hash is not that of its text: it was edited");
    return out;
}

void add(run_account& to, run_account::entry next) {
    refuse_unless(next.prev == to.last_hash(),
                  "prev is not the hash of the line before: a line was removed, added or edited");
    refuse_unless(!to.find(next.run), fmt::format("{} stands there twice", next.run));
    refuse_unless(std::ssize(to.runs) < to.header.runs,
                  fmt::format("{} is one more than the {} runs that the budget pays for", next.run, to.header.runs));
    to.runs.push_back(std::move(next));
}

/// Up to the last whole line, and where that ends.
std::pair<std::optional<run_account>, std::size_t> parse(std::string_view text, const std::string& origin) {
    std::optional<run_account> out;
    std::size_t at = 0;
    for (std::size_t number = 1, end; (end = text.find('\n', at)) != std::string_view::npos; ++number, at = end + 1) {
        const auto line = text.substr(at, end - at);
        try {
            if (out) {
                add(*out, parse_entry(line));
                continue;
            }
            auto first = detail::parse_header(line);
            detail::validate(first.header);
            out = run_account{std::move(first.header), std::move(first.hash), {}};
        } catch (const std::exception& e) {
            refuse(fmt::format("{}: line {}: {}", origin, number, e.what()));
        }
    }
    return {std::move(out), at};
}

nlohmann::json list_terms(ledger_header header) {
    std::string hash;
    header.data_hmac.clear();  // under a key of each run's own
    auto out = nlohmann::json::parse(detail::format(header, hash));
    out.erase("hash");
    return out.flatten();
}

/// Up to what another processor's arithmetic may change.
bool same_term(const nlohmann::json& a, const nlohmann::json& b) {
    if (!a.is_number_float() || !b.is_number_float()) return a == b;
    const auto x = a.get<double>(), y = b.get<double>();
    return std::abs(x - y) <= 1e-9 * std::abs(y);
}

/// The nonce of each run's last start. Trusted: how often a run was cut may depend on its records.
using start_list = std::map<std::string, std::string>;

fs::path locate_starts(const fs::path& directory) {
    return directory / "trusted" / "starts.json";
}

start_list read_starts(const fs::path& directory) try {
    const auto file = locate_starts(directory);
    return fs::exists(file) ? nlohmann::json::parse(read_text(file)).get<start_list>() : start_list();
} catch (const nlohmann::json::exception&) {
    refuse(locate_starts(directory).string() + ": is damaged; bring back the tuning's own");
}

/// A copy of a run's directory does not know its last start, once the original has gone on.
bool is_behind(const start_list& starts, const std::string& name, const ledger_content& run, const book_mark& mark) {
    const auto last = starts.find(name);
    if (last == starts.end()) return !run.charges.empty() || !run.looks.empty() || run.torn;
    return std::none_of(mark.starts.begin(), mark.starts.end(),
                        [&](const auto& start) { return start.nonce == last->second; });
}

/// An entry is durable before its start is noted.
void refuse_cut(const fs::path& file, const std::optional<run_account>& account, const start_list& starts) {
    for (const auto& [name, nonce] : starts)
        if (!account || !account->find(name))
            refuse(
                fmt::format("{}: {} was begun and is missing from it: it was cut or removed; bring back the tuning's "
                            "own, or tune anew with another --out and another budget",
                            file.string(), name));
}

/// A unit has one side in all runs (docs/privacy.md §15): data and split are those of the run that is entered first.
void pin_data(const fs::path& directory, const run_account& account, const account_claim& run) {
    const auto key = directory / "trusted" / "account.key", pin = directory / "trusted" / "account.data";
    if (account.runs.empty() && !fs::exists(key)) run_key::from_system().save(key);
    for (const auto& file : {key, pin})
        if (!account.runs.empty() && !fs::exists(file))
            refuse(file.string() + ": is missing, so whether the data are the first run's is not known; bring it back");
    const auto now = run_key::load(key).hmac(run.data_digest + " " + run.split) + "\n";
    if (account.runs.empty()) return write_file(pin, now);
    if (read_text(pin) != now)
        refuse(
            fmt::format("{}: its runs are on other data or another split than {} would be, and one budget pays for all "
                        "on the same; bring back the data and the data.split_seed that they had",
                        locate_account(directory).string(), run.name));
}

/// For whoever writes alone, after the other runs that begin at the same time. Nothing is made where there is no
/// tuning.
append_file open_lines(const fs::path& directory, const std::string& name) {
    if (!fs::is_directory(directory / "trusted"))
        refuse(directory.string() + ": is no tuning's directory (trusted/ is missing); rldp tune makes one");
    if (!is_run_name(name))
        refuse(fmt::format("{}: is no name for a run of {}, which lies below it, by a path in UTF-8", shown_text(name),
                           directory.string()));
    return append_file(locate_account(directory), detail::longest_wait);
}

/// The account that a run is in, or may be entered in, for whoever has it open; made where it is not there.
run_account open(append_file& opened, const fs::path& directory, const account_claim& run) {
    const auto& name = run.name;
    const auto& ledger = run.ledger;
    const auto file = locate_account(directory);
    auto [account, whole] = parse(read_file(file), file.string());
    const auto starts = read_starts(directory);
    refuse_cut(file, account, starts);
    if (whole < opened.size()) opened.truncate(whole);  // torn by a crash
    if (!account) {
        account = run_account{ledger.header, {}, {}};
        opened.append(detail::format(ledger.header, account->header_hash) + "\n");
    }
    if (!account->covers(ledger.header))
        refuse(
            file.string() +
            ": is of other runs: this one's budget, plan or looks are not theirs; all runs of a tuning have the same "
            "price");
    const auto* known = account->find(name);
    if (known && known->ledger != ledger.header_hash)
        refuse(
            fmt::format("{}: {} was begun with another ledger, and what that spent is spent; bring its directory "
                        "back, or tune anew with another --out and another budget",
                        file.string(), name));
    if (is_behind(starts, name, ledger, read_mark(run.mark)))
        refuse(
            fmt::format("{}: {} has gone on elsewhere, and a step that is made twice costs twice; bring back the "
                        "directory that went on, and the account that it was begun in",
                        file.string(), name));
    if (!known && std::ssize(account->runs) >= account->header.runs)
        refuse(fmt::format("{}: {} would be one more than the {} runs that the budget pays for", file.string(), name,
                           account->header.runs));
    pin_data(directory, *account, run);
    return std::move(*account);
}

}  // namespace

const run_account::entry* run_account::find(std::string_view run) const {
    const auto found = std::find_if(runs.begin(), runs.end(), [&](const auto& one) { return one.run == run; });
    return found == runs.end() ? nullptr : &*found;
}

bool run_account::covers(const ledger_header& run) const {
    const auto ours = list_terms(header), theirs = list_terms(run);
    if (ours.size() != theirs.size()) return false;
    for (const auto& [name, value] : ours.items())
        if (!theirs.contains(name) || !same_term(value, theirs.at(name))) return false;
    return true;
}

ledger_content run_account::promise() const {
    ledger_content out;
    out.header = header;
    out.header_hash = out.last_hash = header_hash;
    out.dealt.resize(header.deck.size());
    return out;
}

fs::path locate_account(const fs::path& directory) {
    return directory / "account.jsonl";
}

run_account read_account(const fs::path& file) {
    auto [account, whole] = parse(read_file(file), file.string());
    if (!account) refuse(file.string() + ": line 1: no whole header, so no run was ever begun");
    return std::move(*account);
}

run_account open_account(const fs::path& directory, const account_claim& run) {
    auto opened = open_lines(directory, run.name);
    return open(opened, directory, run);
}

void enter_account(const fs::path& directory, const account_claim& run) {
    auto opened = open_lines(directory, run.name);
    const auto account = open(opened, directory, run);
    if (!account.find(run.name)) {
        run_account::entry next{run.name, run.ledger.header_hash, account.last_hash(), {}};
        opened.append(to_line(next) + "\n");
    }
    // Here as one to come, in the account, and here as the last: whichever write a crash prevents, the directory knows.
    auto starts = read_starts(directory);
    const auto of = [&](const std::string& nonce) { return book_mark::start{run.ledger.header_hash, nonce}; };
    const auto nonce = new_nonce();
    write_mark(run.mark, {.book = directory, .starts = {of(starts[run.name]), of(nonce)}});
    starts[run.name] = nonce;
    write_file(locate_starts(directory), nlohmann::json(starts).dump(2) + "\n");
    write_mark(run.mark, {.book = directory, .starts = {of(nonce)}});
}

}  // namespace rldp::privacy

#include "privacy/spending/account.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "privacy/keys/digest.hpp"
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

std::string header_line(ledger_header header) {
    std::string hash;
    header.data_hmac.clear();  // under a key of each run's own
    return detail::format(header, hash);
}

void refuse_others(const run_account& account, const ledger_content& run, const fs::path& file) {
    if (header_line(account.header) != header_line(run.header))
        refuse(
            file.string() +
            ": is of other runs: this one's budget, plan or looks are not theirs; all runs of a tuning have the same "
            "price");
}

/// The account, for whoever has it open; made where it is not there.
run_account open(append_file& opened, const fs::path& file, const ledger_content& run) {
    auto [account, whole] = parse(read_file(file), file.string());
    if (whole < opened.size()) opened.truncate(whole);  // torn by a crash
    if (!account) {
        account = run_account{run.header, {}, {}};
        opened.append(detail::format(run.header, account->header_hash) + "\n");
    }
    refuse_others(*account, run, file);
    return std::move(*account);
}

}  // namespace

const run_account::entry* run_account::find(std::string_view run) const {
    const auto found = std::find_if(runs.begin(), runs.end(), [&](const auto& one) { return one.run == run; });
    return found == runs.end() ? nullptr : &*found;
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

run_account open_account(const fs::path& file, const ledger_content& run) {
    append_file opened(file);
    return open(opened, file, run);
}

void enter_account(const fs::path& file, const std::string& name, const ledger_content& run) {
    append_file opened(file);
    auto account = open(opened, file, run);
    if (const auto* known = account.find(name)) {
        if (known->ledger != run.header_hash)
            refuse(
                fmt::format("{}: {} was begun with another ledger, and what that spent is spent; bring its directory "
                            "back, or tune anew with another --out and another budget",
                            file.string(), name));
        return;
    }
    if (!run.charges.empty() || !run.looks.empty() || run.torn)
        refuse(fmt::format("{}: {} has charged steps and is not in it; bring back the account that it was begun in",
                           file.string(), name));
    run_account::entry next{name, run.header_hash, account.last_hash(), {}};
    const auto line = to_line(next) + "\n";
    try {
        add(account, std::move(next));
    } catch (const std::exception& e) {
        refuse(fmt::format("{}: {}", file.string(), e.what()));
    }
    opened.append(line);
}

}  // namespace rldp::privacy

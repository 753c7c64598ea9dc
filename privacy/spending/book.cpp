#include "privacy/spending/book.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/base/append_file.hpp"
#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "config/base/today.hpp"
#include "privacy/keys/random.hpp"
#include "privacy/spending/book_files.hpp"
#include "privacy/spending/book_format.hpp"
#include "privacy/spending/book_mark.hpp"
#include "privacy/spending/book_sketch.hpp"

namespace rldp::privacy {

namespace {

namespace fs = std::filesystem;

void append(const fs::path& directory, const std::string& line) {
    append_file file(detail::locate_lines(directory));
    const auto text = read_file(detail::locate_lines(directory));
    if (const auto end = text.rfind('\n') + 1; end < text.size()) file.truncate(end);  // torn by a crash
    file.append(line);
}

budget_book book_at(const fs::path& directory) {
    budget_book out;
    const auto path = detail::locate_lines(directory);
    if (!fs::exists(path)) return out;
    const auto text = read_text(path);
    std::size_t number = 0;
    for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
        detail::add(out, std::string_view(text).substr(begin, end - begin),
                    fmt::format("{}:{}", path.string(), ++number));
    return out;
}

const book_entry* find(const budget_book& book, const std::string& run) {
    const auto found =
        std::find_if(book.runs.begin(), book.runs.end(), [&](const auto& one) { return one.run == run; });
    return found == book.runs.end() ? nullptr : &*found;
}

/// Which line is the directory's own, where the book's last nonce for it is known there.
const book_entry* own_line(const budget_book& book, const book_mark& mark, const std::string& header) {
    for (const auto& start : mark.starts)
        if (const auto* line = find(book, start.run); line && line->nonce == start.nonce) return line;
    // Begun, and last started, by a version without nonces.
    const auto* line = find(book, header);
    return line && line->nonce.empty() && mark.starts.empty() ? line : nullptr;
}

void join_sketch(const fs::path& directory, const run_key& key, const unit_sketches& of) {
    const auto known = read_sketches(directory);
    if (const auto all = joined(known, under(key, of)); all != known) write_sketches(directory, all);
}

book_entry entry_for(const book_claim& run, const run_key& key) {
    const auto& header = run.ledger.header;
    book_entry out{.run = run.ledger.header_hash,
                   .nonce = {},
                   .copy_of = {},
                   .place = run.place.string(),
                   .began = now(),
                   .data = key.hmac(run.data_digest),
                   .unit = header.unit,
                   .split = key.hmac("split " + run.split),
                   .held_out = header.held_out,
                   .epsilon_guaranteed = {},
                   .delta = header.delta,
                   .padding_delta = header.padding_delta,
                   .phases = {}};
    if (header.guarantee().holds()) {
        out.epsilon_guaranteed = header.epsilon_guaranteed;
        out.phases = run.phases;
        out.looks = header.looks;
    }
    return out;
}

[[noreturn]] void refuse_excess(const fs::path& directory, const book_entry& entry, const std::string& why) {
    refuse(fmt::format(
        "privacy.book {}: with this run{}, {}; lower privacy.epsilon, or ask the data's owner for more "
        "(rldp book --total-epsilon)",
        directory.string(),
        entry.copy_of.empty() ? "" : fmt::format(", which as a copy of {} takes its promise once more", entry.copy_of),
        why));
}

start_kind enter(const fs::path& directory, const book_claim& run) {
    make_book(directory);
    const detail::writing_lock alone(directory);
    const auto key = run_key::load(detail::locate_key(directory));
    auto book = book_at(directory);
    const auto& header = run.ledger.header_hash;
    const auto mark = read_mark(run.mark);
    const auto nonce = new_nonce();
    const auto* own = own_line(book, mark, header);
    // Here as one to come, in the book, and here as the last (book_mark.hpp).
    const auto start = [&](const book_mark::start& before, const std::string& name, const std::string& line) {
        const book_mark::start next{name, nonce};
        write_mark(run.mark, {.book = directory, .starts = {before, next}});
        append(directory, line);
        write_mark(run.mark, {.book = directory, .starts = {next}});
    };
    if (own) {
        const book_mark::start before{own->run, own->nonce};
        start(before, own->run, detail::to_line(detail::book_start{own->run, nonce, run.place.string(), now()}));
        return start_kind::again;
    }
    auto entry = entry_for(run, key);
    entry.nonce = nonce;
    if (const auto* original = find(book, header)) {
        entry.run += "+" + nonce;
        entry.copy_of = original->place;
    }
    book.runs.push_back(entry);
    if (const auto why = detail::excess(book, entry)) refuse_excess(directory, entry, *why);
    join_sketch(directory, key, run.sketches);
    start(mark.starts.empty() ? book_mark::start{header, ""} : mark.starts.front(), entry.run, detail::to_line(entry));
    return entry.copy_of.empty() ? start_kind::first : start_kind::copy;
}

}  // namespace

budget_book read_book(const fs::path& directory) {
    if (fs::is_regular_file(directory))
        refuse(directory.string() + ": a file, and a budget book is a directory; rldp book lists those there are");
    if (!fs::exists(detail::locate_lines(directory)))
        refuse(directory.string() + ": holds no budget book (book.jsonl is missing); a run makes one (privacy.book)");
    return book_at(directory);
}

start_kind enter_run(const fs::path& directory, const book_claim& run) {
    try {
        return enter(directory, run);
    } catch (const storage_error& reason) {
        detail::refuse_unwritable(directory, reason);
    }
}

void set_total(const fs::path& directory, const book_total& total) {
    detail::check(total, "rldp book");
    make_book(directory);
    const detail::writing_lock alone(directory);
    auto book = book_at(directory);
    detail::set(book, total);
    if (const auto why = detail::excess(book, total))
        refuse(fmt::format("{}: {}; give more", directory.string(), *why));
    append(directory, detail::to_line(total));
}

}  // namespace rldp::privacy

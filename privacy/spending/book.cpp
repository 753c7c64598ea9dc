#include "privacy/spending/book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "config/base/append_file.hpp"
#include "config/base/directory_lock.hpp"
#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "config/base/today.hpp"
#include "privacy/keys/random.hpp"
#include "privacy/spending/book_format.hpp"

namespace rldp::privacy {

namespace {

namespace fs = std::filesystem;

fs::path lines_of(const fs::path& directory) {
    return directory / "book.jsonl";
}

/// Waits for others who write: an entry takes them no longer than pricing it.
directory_lock locked(const fs::path& directory) {
    using namespace std::chrono_literals;
    const auto until = std::chrono::steady_clock::now() + 60s;
    for (;;) {
        if (auto lock = directory_lock::take(directory, directory_lock::kind::exclusive)) return std::move(*lock);
        if (std::chrono::steady_clock::now() > until)
            refuse(directory.string() + ": other runs have been writing this budget book for a minute; try again");
        std::this_thread::sleep_for(20ms);
    }
}

/// Made where there is nothing yet: a directory of another purpose is not to be locked up. Version control leaves a
/// book alone: it is the owner's, not the project's.
void make_book(const fs::path& directory) {
    const auto key = directory / "book.key";
    if (fs::exists(key)) return;
    const bool fresh = !fs::exists(directory);
    if (fresh) create_private_directory(directory);
    const auto lock = locked(directory);
    if (fs::exists(key)) return;  // another run's, made meanwhile
    refuse_unless(fresh || fs::is_empty(directory),
                  directory.string() + ": holds other things and no budget book; name a directory of its own");
    create_private_directory(directory);
    write_file(directory / ".gitignore", "*\n");
    run_key::from_system().save(key);
}

void append(const fs::path& directory, const std::string& line) {
    append_file file(lines_of(directory));
    const auto text = read_file(lines_of(directory));
    if (const auto end = text.rfind('\n') + 1; end < text.size()) file.truncate(end);  // torn by a crash
    file.append(line);
}

budget_book book_at(const fs::path& directory) {
    budget_book out;
    const auto path = lines_of(directory);
    if (!fs::exists(path)) return out;
    const auto text = read_text(path);
    std::size_t number = 0;
    for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
        detail::add(out, std::string_view(text).substr(begin, end - begin),
                    fmt::format("{}:{}", path.string(), ++number));
    return out;
}

/// Of runs with a guarantee at `delta`; infinite where there is no room in it for those that only add up.
double composed(const std::vector<const book_entry*>& runs, double delta) {
    double apart = 0, left = delta;
    std::vector<phase> phases;
    for (const auto* run : runs) {
        left -= run->padding_delta;
        if (!run->phases.empty()) {
            phases.insert(phases.end(), run->phases.begin(), run->phases.end());
        } else {
            left -= run->delta - run->padding_delta;
            apart += *run->epsilon;
        }
    }
    // A hair more than the sum of what was taken off again.
    if (left <= 0) return phases.empty() && left > -1e-12 * delta ? apart : std::numeric_limits<double>::infinity();
    return apart + make_accountant("pld")->epsilon(phases, left);
}

/// Of runs of one unit and split, at least one.
book_sum sum_of(const std::vector<const book_entry*>& runs) {
    book_sum out{.unit = runs.front()->unit,
                 .split = runs.front()->split,
                 .delta = 0,
                 .epsilon = 0,
                 .pld = {},
                 .runs = runs.size()};
    for (const auto* run : runs) {
        out.delta += run->delta;
        out.epsilon = out.epsilon && run->epsilon ? std::optional(*out.epsilon + *run->epsilon) : std::nullopt;
    }
    if (out.epsilon && out.delta < 1) out.pld = std::min(*out.epsilon, composed(runs, out.delta));
    return out;
}

/// In the order of the first run of each.
std::vector<std::vector<const book_entry*>> by_unit_and_split(const budget_book& book) {
    std::vector<std::vector<const book_entry*>> out;
    for (const auto& run : book.runs) {
        const auto found = std::find_if(out.begin(), out.end(), [&](const auto& runs) {
            return runs.front()->unit == run.unit && runs.front()->split == run.split;
        });
        if (found == out.end())
            out.push_back({&run});
        else
            found->push_back(&run);
    }
    return out;
}

std::string words_of(const std::string& unit) {
    return unit == "record" ? "each record" : "each " + unit;
}

/// Why `book` spends more than its owner allows, or nothing.
std::optional<std::string> excess(const budget_book& book) {
    if (!book.total || book.runs.empty()) return {};
    const auto& most = *book.total;
    for (const auto& run : book.runs) {
        if (!run.epsilon) return fmt::format("{} guarantees nothing, and a total was set", run.place);
        if (run.unit != most.unit)
            return fmt::format(
                "{} counts by {}, and the total is one for {}; contracts of different units don't add up", run.place,
                run.unit, words_of(most.unit));
        if (run.split != book.runs.front().split)
            return fmt::format(
                "{} splits the data by {}, {} by {}; runs of different splits have no sum, so keep data.split and "
                "data.split_seed",
                run.place, run.split, book.runs.front().place, book.runs.front().split);
    }
    const auto runs = by_unit_and_split(book).front();
    const auto sum = sum_of(runs);
    if (sum.delta > most.delta * (1 + 1e-9))
        return fmt::format("the δ of {} runs add up to {:.4g}, and the total is {:g}", runs.size(), sum.delta,
                           most.delta);
    const double epsilon =
        most.by == composition::basic ? *sum.epsilon : std::min(*sum.epsilon, composed(runs, most.delta));
    if (epsilon > most.epsilon * (1 + 1e-9))
        return fmt::format("{} runs come to ε = {:.4g} ({}), and the total is {:g}", runs.size(), epsilon,
                           most.by == composition::basic ? "added up" : "composed", most.epsilon);
    return {};
}

}  // namespace

budget_book read_book(const fs::path& directory) {
    if (!fs::exists(lines_of(directory)))
        refuse(directory.string() + ": holds no budget book (book.jsonl is missing); a run makes one (privacy.book)");
    return book_at(directory);
}

std::vector<book_sum> sums_of(const budget_book& book) {
    std::vector<book_sum> out;
    for (const auto& runs : by_unit_and_split(book)) out.push_back(sum_of(runs));
    return out;
}

void enter_run(const fs::path& directory, const book_claim& run) {
    const auto& header = run.ledger.header;
    const auto& id = run.ledger.header_hash;
    make_book(directory);
    const auto lock = locked(directory);
    auto book = book_at(directory);
    if (std::any_of(book.runs.begin(), book.runs.end(), [&](const auto& known) { return known.run == id; })) return;
    book_entry entry{.run = id,
                     .place = run.place.string(),
                     .began = now(),
                     .data = run_key::load(directory / "book.key").hmac(run.data_digest),
                     .unit = header.unit,
                     .split = run.split,
                     .epsilon = {},
                     .delta = header.delta,
                     .padding_delta = header.padding_delta,
                     .phases = {}};
    if (header.guarantee().holds()) {
        entry.epsilon = header.guaranteed_epsilon;
        entry.phases = run.phases;
    }
    book.runs.push_back(entry);
    if (const auto why = excess(book))
        refuse(
            fmt::format("privacy.book {}: with this run, {}; lower privacy.epsilon, or ask the data's owner for more "
                        "(rldp book --total-epsilon)",
                        directory.string(), *why));
    append(directory, detail::to_line(entry));
}

void set_total(const fs::path& directory, const book_total& total) {
    make_book(directory);
    const auto lock = locked(directory);
    auto book = book_at(directory);
    detail::check(total, "rldp book");
    book.total = total;
    if (const auto why = excess(book)) refuse(fmt::format("{}: {}; give more", directory.string(), *why));
    append(directory, detail::to_line(total));
}

}  // namespace rldp::privacy

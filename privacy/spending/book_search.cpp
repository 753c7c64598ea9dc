#include "privacy/spending/book_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "config/base/book_name.hpp"
#include "config/base/directory.hpp"
#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "privacy/keys/random.hpp"
#include "privacy/spending/book_files.hpp"
#include "privacy/spending/book_sketch.hpp"

namespace rldp::privacy {

namespace {

namespace fs = std::filesystem;

/// Else no run has told it yet whom it is of, or only one of an earlier version.
bool knows_its_data(const fs::path& book) {
    return fs::exists(detail::locate_sketch(book));
}

double likeness_to(const fs::path& book, const unit_sketches& of) {
    if (!knows_its_data(book)) return 1;  // nothing says otherwise
    return likeness(read_sketches(book), under(run_key::load(detail::locate_key(book)), of));
}

/// Of the home's books the one most like the data, if any is.
std::optional<book_answer> most_alike(const unit_sketches& of) {
    std::optional<book_answer> out;
    for (const auto& book : books_at_home()) {
        if (!knows_its_data(book)) continue;
        if (const double share = likeness_to(book, of); share >= alike_from && (!out || share > out->likeness))
            out = {book, share, false};
    }
    return out;
}

/// A book of that name that no run has used yet, in which its owner may have set a total, is these data's.
fs::path name_for(const std::string& wanted) {
    const auto home = books_home();
    auto out = home / wanted;
    if (is_book(out) && !knows_its_data(out)) return out;
    for (int number = 2; fs::exists(fs::symlink_status(out)); ++number)
        out = home / fmt::format("{}-{}", wanted, number);
    return out;
}

void make_with_sketch(const fs::path& directory, const unit_sketches& of) {
    make_book(directory);
    const detail::writing_lock alone(directory);
    const auto known = read_sketches(directory);
    write_sketches(directory, joined(known, under(run_key::load(detail::locate_key(directory)), of)));
}

void make_home() {
    const auto home = books_home();
    if (fs::exists(home)) return;
    make_directory(home.parent_path());
    create_private_directory(home);
}

book_answer search(const book_request& request, const fs::path& given) {
    const bool found = request.asked == found_book;
    const auto known = found ? request.started : given;
    if (!known.empty() && is_book(known)) return {known, likeness_to(known, request.sketches), false};
    make_home();
    const detail::writing_lock alone(books_home());
    const auto alike = most_alike(request.sketches);
    if (found && alike) return *alike;
    if (!found && alike)
        refuse(
            fmt::format("privacy.book {}: would be a new book, but {} has runs on data like these; name that one, "
                        "or make this one first (rldp book {} --new)",
                        request.asked, alike->directory.string(), request.asked));
    const auto directory = found ? name_for(request.name) : given;
    make_with_sketch(directory, request.sketches);
    return {directory, 1, true};
}

}  // namespace

std::vector<fs::path> books_at_home() {
    std::vector<fs::path> out;
    if (!fs::exists(books_home())) return out;
    for (const auto& entry : list_entries(books_home()))
        if (is_book(entry.path())) out.push_back(entry.path());
    std::sort(out.begin(), out.end());
    return out;
}

fs::path book_called(const std::string& text) {
    if (is_book_path(text) || is_book(text)) return text;
    refuse_unless(is_book_name(text),
                  text + ": is no name of a budget book, nor is it the path of one, which has a '/'");
    return books_home() / text;
}

book_answer find_book(const book_request& request) {
    const fs::path given = is_book_path(request.asked)   ? fs::path(request.asked)
                           : request.asked == found_book ? books_home()
                                                         : books_home() / request.asked;
    try {
        return search(request, given);
    } catch (const storage_error& reason) {
        detail::refuse_unwritable(given, reason);
    }
}

}  // namespace rldp::privacy

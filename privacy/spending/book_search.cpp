#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "base/data_names.hpp"
#include "base/directories.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/json_reader.hpp"
#include "privacy/keys/random.hpp"
#include "privacy/keys/seal.hpp"
#include "privacy/spending/book_files.hpp"
#include "privacy/spending/book_search.hpp"

namespace rldp::privacy {

namespace {

using nlohmann::json;

void raise(keyed_sketch& of, unsigned level) {
    of.level = std::max(of.level, level);
    std::erase_if(of.units, [&](const auto& unit) { return unit.second < of.level; });
}

double likeness(const keyed_sketch& a, const keyed_sketch& b) {
    const auto level = std::max(a.level, b.level);
    std::size_t in_a = 0, in_both = 0;
    for (const auto& [unit, zeros] : a.units) {
        if (zeros < level) continue;
        ++in_a;
        in_both += b.units.contains(unit) ? 1 : 0;
    }
    const auto in_b = static_cast<std::size_t>(
        std::count_if(b.units.begin(), b.units.end(), [&](const auto& unit) { return unit.second >= level; }));
    const auto least = std::min(in_a, in_b);
    return least == 0 ? 0 : static_cast<double>(in_both) / static_cast<double>(least);
}

keyed_sketch sketch_from(const json& value, const std::string& origin) {
    const json_reader from(value, origin);
    keyed_sketch out{.level = static_cast<unsigned>(from.integer("level", 0, 64)), .units = {}};
    const auto& units = from.at("units");
    refuse_unless(units.is_array() && units.size() <= unit_sketch::most, origin + ": units is no list of a sketch");
    for (const auto& unit : units) {
        const bool pair = unit.is_array() && unit.size() == 2 && unit[0].is_number_unsigned() &&
                          unit[1].is_number_unsigned() && unit[1] >= out.level && unit[1] <= 64;
        refuse_unless(pair, origin + ": units holds something else; bring back the book as it was");
        out.units.emplace(unit[0].get<std::uint64_t>(), unit[1].get<unsigned>());
    }
    return out;
}

}  // namespace

keyed_sketches under(const run_key& key, const unit_sketches& sketches) {
    const file_seal seal(key);
    keyed_sketches out;
    for (const auto& [name, sketch] : sketches) {
        auto& into = out[name];
        into.level = sketch.level;
        for (const auto hash : sketch.hashes) {
            const auto tag = seal("book sketch", {reinterpret_cast<const char*>(&hash), sizeof hash});
            std::uint64_t keyed = 0;
            std::memcpy(&keyed, tag.data(), sizeof keyed);
            into.units.emplace(keyed, static_cast<unsigned>(std::countl_zero(hash)));
        }
    }
    return out;
}

double likeness(const keyed_sketches& a, const keyed_sketches& b) {
    double out = 0;
    for (const auto& [name, sketch] : a)
        if (const auto other = b.find(name); other != b.end()) out = std::max(out, likeness(sketch, other->second));
    return out;
}

keyed_sketches joined(const keyed_sketches& a, const keyed_sketches& b) {
    auto out = a;
    for (const auto& [name, sketch] : b) {
        auto& into = out[name];
        into.units.insert(sketch.units.begin(), sketch.units.end());
        raise(into, sketch.level);
        while (into.units.size() > unit_sketch::most) raise(into, into.level + 1);
    }
    return out;
}

keyed_sketches read_sketches(const std::filesystem::path& book) {
    const auto path = detail::locate_sketch(book);
    keyed_sketches out;
    if (!std::filesystem::exists(path)) return out;
    const auto all = read_object(path);
    for (const auto& [name, value] : all.items())
        out.emplace(name, sketch_from(value, fmt::format("{}: \"{}\"", path.string(), name)));
    return out;
}

void write_sketches(const std::filesystem::path& book, const keyed_sketches& sketches) {
    json out = json::object();
    for (const auto& [name, sketch] : sketches) {
        json units = json::array();
        for (const auto& [unit, zeros] : sketch.units) units.push_back({unit, zeros});
        out[name] = {{"level", sketch.level}, {"units", std::move(units)}};
    }
    write_file(detail::locate_sketch(book), out.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
}

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

bool is_found(const book_request& request) {
    return request.asked == found_book;
}

/// The book that a name, a path or a run's last start say.
std::optional<book_answer> find_said(const book_request& request, const fs::path& given) {
    const auto known = is_found(request) ? request.started : given;
    if (known.empty() || !is_book(known)) return {};
    return book_answer{known, likeness_to(known, request.sketches), false};
}

/// Else one of the home's, by the data.
std::optional<book_answer> find_alike(const book_request& request) {
    auto alike = most_alike(request.sketches);
    if (!is_found(request) && alike)
        refuse(
            fmt::format("privacy.book {}: would be a new book, but {} has runs on data like these; name that one, "
                        "or make this one first (rldp book {} --new)",
                        request.asked, alike->directory.string(), request.asked));
    return alike;
}

book_answer search(const book_request& request, const fs::path& given) {
    if (auto said = find_said(request, given)) return std::move(*said);
    make_home();
    const detail::writing_lock alone(books_home());
    if (auto alike = find_alike(request)) return std::move(*alike);
    const auto directory = is_found(request) ? name_for(request.name) : given;
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

namespace {

fs::path place_of(const book_request& request) {
    if (is_book_path(request.asked)) return request.asked;
    return is_found(request) ? books_home() : books_home() / request.asked;
}

}  // namespace

std::optional<book_answer> find_known_book(const book_request& request) {
    if (auto said = find_said(request, place_of(request))) return said;
    if (auto alike = find_alike(request)) return alike;
    if (!is_found(request)) return {};
    // One that no run has used yet, in which its owner may have set a total.
    if (const auto named = name_for(request.name); is_book(named)) return book_answer{named, 1, false};
    return {};
}

book_answer find_book(const book_request& request) {
    const auto given = place_of(request);
    try {
        return search(request, given);
    } catch (const storage_error& reason) {
        detail::refuse_unwritable(given, reason);
    }
}

}  // namespace rldp::privacy

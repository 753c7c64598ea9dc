#include "privacy/spending/book_sketch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "config/base/files.hpp"
#include "config/base/json_reader.hpp"
#include "privacy/keys/seal.hpp"
#include "privacy/spending/book_files.hpp"

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

}  // namespace rldp::privacy

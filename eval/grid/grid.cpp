#include "eval/grid/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "config/config.hpp"
#include "eval/grid/cell_files.hpp"
#include "eval/grid/lists.hpp"
#include "eval/report/configuration.hpp"

namespace rldp::eval {
namespace {

using json = nlohmann::ordered_json;

// 1: each seed had a split of its own, on real data too, and what is trusted now lay beside the cells.
constexpr int layout = 2;

std::string joined(const std::vector<std::string>& values) {
    std::string out;
    for (const auto& value : values) out += (out.empty() ? "" : ",") + value;
    return out;
}

json::json_pointer pointer_to(std::string key) {
    std::replace(key.begin(), key.end(), '.', '/');
    return json::json_pointer("/" + key);
}

// {"a": {"b": 1}} as a.b → 1; arrays stay whole.
void flatten(const json& value, const std::string& path, std::map<std::string, std::string>& into) {
    if (!value.is_object()) {
        into[path] = value.dump();
        return;
    }
    for (const auto& [name, inner] : value.items()) flatten(inner, path.empty() ? name : path + "." + name, into);
}

std::string compare_named(const std::string& what, const std::map<std::string, std::string>& there,
                          const std::map<std::string, std::string>& here) {
    const auto value = [](const auto& in, const std::string& name) {
        const auto found = in.find(name);
        return found == in.end() ? std::string("absent") : found->second;
    };
    auto names = there;
    names.insert(here.begin(), here.end());
    for (const auto& [name, ignored] : names)
        if (const auto a = value(there, name), b = value(here, name); a != b)
            return fmt::format("{} {} is {} there and {} here", what, name, a, b);
    return {};
}

std::map<std::string, std::string> read_axes(const json& described) {
    std::map<std::string, std::string> out;
    for (const auto& [name, values] : described.at("axes").items())
        out[name] = joined(values.get<std::vector<std::string>>());
    return out;
}

std::map<std::string, std::string> list_keys(const json& described) {
    std::map<std::string, std::string> out;
    flatten(described.at("configuration"), "", out);
    return out;
}

const axis& axis_named(const std::string& name, const std::vector<axis>& axes) {
    std::string known;
    for (const auto& one : axes) {
        if (one.name == name) return one;
        known += (known.empty() ? "" : ", ") + one.name;
    }
    refuse(fmt::format("--only {}: the grid has no such axis; it has {}", name, known));
}

// The value of the axis that the user means: 2.0 is 2.
std::string value_named(const axis& of, const std::string& text) {
    const auto as_json = [](const std::string& written) {
        return json::accept(written) ? json::parse(written) : json(written);
    };
    for (const auto& value : of.values)
        if (value == text || as_json(value) == as_json(text)) return value;
    refuse(fmt::format("--only {}: {} is no value of that axis; it has {}", of.name, text, joined(of.values)));
}

}  // namespace

resolver make_resolver(const std::filesystem::path& config, const std::vector<std::string>& set) {
    return [config, set](const std::vector<std::string>& overrides) {
        auto all = set;
        all.insert(all.end(), overrides.begin(), overrides.end());
        return json::parse(config::to_json(load_configuration(config, all)));
    };
}

json value_at(const json& configuration, const std::string& key) {
    const auto pointer = pointer_to(key);
    return configuration.contains(pointer) ? configuration.at(pointer) : json(nullptr);
}

void erase_key(json& configuration, const std::string& key) {
    const auto pointer = pointer_to(key);
    if (configuration.contains(pointer)) configuration.at(pointer.parent_pointer()).erase(pointer.back());
}

json resolve_cell(cell& one, const resolver& resolve) try {
    auto configuration = resolve(one.overrides);
    one.split = find_split(configuration);
    return configuration;
} catch (const error& reason) {
    throw error(reason.code(), fmt::format("cell {}: {}", one.id, reason.what()));
}

std::string as_file_name(const std::string& text) {
    std::string out;
    for (const char c : text) {
        const bool kept = std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string("._+-").find(c) < 4;
        if (kept)
            out += c;
        else if (!out.empty() && out.back() != '_')
            out += '_';
    }
    while (!out.empty() && out.back() == '_') out.pop_back();
    return out;
}

json to_json(const grid& what) {
    json axes = json::object();
    for (const auto& one : what.axes) axes[one.name] = one.values;
    return {{"kind", what.kind}, {"layout", layout}, {"axes", axes}, {"configuration", what.base}};
}

std::string first_difference(const json& there, const json& here) {
    if (there.at("kind") != here.at("kind"))
        return fmt::format("it is a {} there and a {} here", there.at("kind").get<std::string>(),
                           here.at("kind").get<std::string>());
    const auto axis_difference = compare_named("axis", read_axes(there), read_axes(here));
    return axis_difference.empty() ? compare_named("key", list_keys(there), list_keys(here)) : axis_difference;
}

namespace {

/// A directory that no grid began in may hold no more than what a grid that was cut at once leaves: no run, say.
void refuse_others(const std::filesystem::path& out) {
    constexpr std::array<std::string_view, 3> own{"cells", "trusted", "grid.lock"};
    if (!std::filesystem::is_directory(out)) return;  // which making it refuses
    for (const auto& entry : std::filesystem::directory_iterator(out))
        if (!entry.path().filename().string().starts_with('.') &&
            std::find(own.begin(), own.end(), entry.path().filename()) == own.end())
            refuse(fmt::format("{}: holds {}, which is no grid's; choose another --out", out.string(),
                               entry.path().filename().string()));
}

}  // namespace

void claim_directory(const std::filesystem::path& out, const grid& what) {
    const grid_directory place{out};
    const auto file = place.description();
    if (std::filesystem::exists(out) && !std::filesystem::exists(file)) refuse_others(out);
    place.create();
    if (!std::filesystem::exists(file)) {
        if (!std::filesystem::is_empty(place.cells()))
            refuse(fmt::format("{}: is missing, but there are cells beside it; choose another --out", file.string()));
        write_file(file, to_json(what).dump(2) + "\n");
        return;
    }
    std::string difference;
    try {
        const auto there = json::parse(read_text(file));
        difference = first_difference(there, to_json(what));
        if (there.value("layout", 1) != layout)
            refuse(
                fmt::format("{}: is of another version of rldp, which split the data otherwise; choose another --out",
                            file.string()));
    } catch (const json::exception&) {
        refuse(fmt::format("{}: describes no grid; choose another --out", file.string()));
    }
    if (!difference.empty())
        refuse(fmt::format("{}: is of another grid: {}; choose another --out", file.string(), difference));
}

selection selection_from(const std::vector<std::string>& only, const std::vector<axis>& axes) {
    selection chosen;
    for (const auto& text : only) {
        const auto equals = text.find('=');
        if (equals == std::string::npos || equals == 0)
            refuse(fmt::format("--only {}: not of the form axis=v1,v2", text));
        const auto name = text.substr(0, equals);
        const auto& of = axis_named(name, axes);
        if (chosen.count(of.name))
            refuse(fmt::format("--only {}: is given twice; list all its values at once", of.name));
        for (const auto& value : distinct_list("--only " + of.name, text.substr(equals + 1)))
            chosen[of.name].push_back(value_named(of, value));
    }
    return chosen;
}

bool selects(const selection& chosen, const cell& one) {
    return std::all_of(chosen.begin(), chosen.end(), [&](const auto& entry) {
        const auto found = one.at.find(entry.first);
        return found == one.at.end() ||
               std::find(entry.second.begin(), entry.second.end(), found->second) != entry.second.end();
    });
}

}  // namespace rldp::eval

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <sstream>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "config/config.hpp"
#include "config/schema.hpp"
#include "data/sources/narrative.hpp"
#include "eval/experiments/cell_files.hpp"
#include "eval/experiments/grid.hpp"
#include "run/artifacts/run_directory.hpp"

namespace rldp::eval {
namespace {

// Follows JSON just far enough to tell which commas are outside of it.
std::vector<std::string> parts(const std::string& text) {
    std::vector<std::string> out(1);
    int depth = 0;
    bool quoted = false, escaped = false;
    for (const char c : text) {
        if (c == ',' && depth <= 0 && !quoted) {
            out.emplace_back();
            continue;
        }
        out.back() += c;
        if (quoted) {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '[' || c == '{') {
            ++depth;
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    return out;
}

template <class Number>
std::optional<Number> whole(const std::string& text) {
    Number value{};
    const char* end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, value);
    if (failure != std::errc{} || stop != end) return std::nullopt;
    return value;
}

template <class Number>
void add_distinct(const std::string& option, std::vector<Number>& to, const Number& value, const std::string& text) {
    if (std::find(to.begin(), to.end(), value) != to.end())
        refuse(fmt::format("{}: {} is there twice; name each once", option, text));
    to.push_back(value);
}

}  // namespace

std::vector<std::string> distinct_list(const std::string& option, const std::string& text) {
    std::vector<std::string> out;
    for (const auto& part : parts(text)) {
        if (part.empty())
            refuse(fmt::format("{}: \"{}\" has an empty part; write a comma between two values", option, text));
        add_distinct(option, out, part, part);
    }
    return out;
}

std::vector<double> positive_list(const std::string& option, const std::string& text) {
    std::vector<double> out;
    for (const auto& part : distinct_list(option, text)) {
        const auto value = whole<double>(part);
        if (!value || !std::isfinite(*value) || *value <= 0)
            refuse(fmt::format("{}: {} is no finite number above 0", option, part));
        add_distinct(option, out, *value, part);
    }
    return out;
}

std::vector<std::int64_t> seed_list(const std::string& option, const std::string& text) {
    std::vector<std::int64_t> out;
    for (const auto& part : distinct_list(option, text)) {
        const auto value = whole<std::int64_t>(part);
        if (!value || *value < 0) refuse(fmt::format("{}: {} is no whole number from 0", option, part));
        add_distinct(option, out, *value, part);
    }
    return out;
}

namespace {

axis axis_from(const std::string& text) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
        refuse(fmt::format("--grid {}: not of the form key=v1,v2; write, for example, --grid rl.batch=4,8", text));
    const auto key = text.substr(0, equals);
    if (!config::find_key(key)) refuse(fmt::format("--grid {}: unknown key; {}", key, config::did_you_mean(key)));
    return {key, distinct_list("--grid " + key, text.substr(equals + 1))};
}

}  // namespace

std::vector<axis> axes_from(const std::vector<std::string>& keys) {
    std::vector<axis> axes;
    for (const auto& text : keys) {
        auto one = axis_from(text);
        for (const auto& other : axes)
            if (other.name == one.name)
                refuse(fmt::format("--grid {}: is given twice; list all its values at once", one.name));
        axes.push_back(std::move(one));
    }
    if (axes.empty()) refuse("give at least one --grid key=v1,v2");
    return axes;
}

std::vector<cell> combine(const std::vector<axis>& axes) {
    std::vector<cell> all(1);
    for (const auto& one : axes) {
        std::vector<cell> longer;
        for (const auto& begun : all)
            for (const auto& value : one.values) {
                auto next = begun;
                const auto comma = begun.arm.empty() ? "" : ",";
                next.arm += comma + one.name + "=" + value;
                next.id += comma + one.name + "=" + as_file_name(value);
                next.at[one.name] = value;
                next.overrides.push_back(one.name + "=" + value);
                longer.push_back(std::move(next));
            }
        all = std::move(longer);
    }
    return all;
}

namespace {

// Every key of these sections counts, one that is added later too, but for those that only say how a record is told,
// cut or kept: it is placed by its row.
constexpr const char* sections[] = {"data", "audit"};
const std::set<std::string> harmless = {"data.max_tokens", "data.keep", "data.ids_mapping", "data.cache"};

/// Of a template the key column that it names for a record, which then takes the row's place, and that there is one.
std::string make_identity(const nlohmann::ordered_json& path) {
    if (!path.is_string()) return path.dump();
    try {
        const auto key = data::read_template(path.get<std::string>()).record;
        return key ? "records by " + *key : "records by row";
    } catch (const error&) {  // the cell itself says what is wrong with it
        return path.dump();
    }
}

}  // namespace

std::optional<data_split> find_split(const nlohmann::ordered_json& configuration) {
    if (is_synthetic(value_at(configuration, "data.path").get<std::string>())) return std::nullopt;
    data_split out = {{"privacy.unit", value_at(configuration, "privacy.unit").dump()}};
    for (const std::string section : sections) {
        const auto keys = value_at(configuration, section);
        for (const auto& [name, value] : keys.items())
            if (const auto key = section + "." + name; !harmless.contains(key))
                out[key] = key == "data.template" ? make_identity(value) : value.dump();
    }
    return out;
}

std::vector<std::string> keys_that_differ(const std::vector<data_split>& splits) {
    std::map<std::string, std::set<std::string>> values;
    for (const auto& one : splits)
        for (const auto& [key, ignored] : one)
            for (const auto& other : splits) values[key].insert(other.contains(key) ? other.at(key) : "");
    std::vector<std::string> out;
    for (const auto& [key, all] : values)
        if (all.size() > 1) out.push_back(key);
    return out;
}

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

std::optional<json> read_base(const std::filesystem::path& out) {
    const auto file = grid_directory{out}.description();
    if (!std::filesystem::exists(file)) return {};
    const auto described = json::parse(read_text(file), nullptr, false);
    if (!described.is_object() || !described.contains("configuration"))
        refuse(fmt::format("{}: describes no grid; choose another --out", file.string()));
    return described.at("configuration");
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

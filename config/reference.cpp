#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "config/schema.hpp"

namespace rldp::config {

namespace {

std::string_view last_name(std::string_view path) {
    const auto dot = path.rfind('.');
    return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

std::set<std::string> keys_and_sections() {
    std::set<std::string> paths;
    for (const auto& key : schema()) {
        paths.insert(key.path);
        for (auto dot = key.path.find('.'); dot != std::string::npos; dot = key.path.find('.', dot + 1))
            paths.insert(key.path.substr(0, dot));
    }
    return paths;
}

/// A right name in the wrong section is worth one edit: epsilon → privacy.epsilon, train.rank → lora.rank.
std::pair<std::size_t, std::size_t> apart(const std::string& path, const std::string& known) {
    const auto whole = edit_distance(path, known);
    return {std::min(whole, edit_distance(last_name(path), last_name(known)) + 1), whole};
}

}  // namespace

const key* find_key(const std::string& path) {
    const auto& keys = schema();
    const auto found = std::find_if(keys.begin(), keys.end(), [&](const key& k) { return k.path == path; });
    return found == keys.end() ? nullptr : &*found;
}

bool is_section(const std::string& path) {
    return std::any_of(schema().begin(), schema().end(), [&](const key& k) { return k.path.starts_with(path + "."); });
}

std::string nearest(const std::string& path) {
    const auto paths = keys_and_sections();
    return *std::min_element(paths.begin(), paths.end(),
                             [&](const auto& a, const auto& b) { return apart(path, a) < apart(path, b); });
}

std::string did_you_mean(const std::string& path) {
    const auto near = nearest(path);
    const auto most = std::max<std::size_t>(1, last_name(path).size() / 2);
    return apart(path, near).first <= most ? fmt::format("did you mean {}?", near)
                                           : "rldp reference lists the keys there are";
}

namespace {

std::string find_section(const key& key) {
    return key.path.substr(0, key.path.find('.'));
}

/// A section's keys share a table; those outside every section share one, too.
std::string make_title(const key& key) {
    return key.path.find('.') == std::string::npos ? "top level" : find_section(key);
}

std::string describe_default(const key& key) {
    if (!key.absent.empty()) return key.absent;
    const auto value = key.write(run_config{}).dump();
    return value == R"("")" ? "required" : fmt::format("`{}`", value);
}

}  // namespace

std::string reference_markdown() {
    std::string text, title;
    for (const auto& key : schema()) {
        if (make_title(key) != title) {
            title = make_title(key);
            text +=
                fmt::format("{}### {}\n\n| key | default | unit | takes | meaning |\n| --- | --- | --- | --- | --- |\n",
                            text.empty() ? "" : "\n", title);
        }
        text += fmt::format("| `{}` | {} | {} | {} | {} |\n", key.path, describe_default(key), key.unit,
                            key.expectation, key.sentence);
    }
    return text;
}

std::string reference_json_schema() {
    const auto section = [] {
        return json{{"type", "object"}, {"properties", json::object()}, {"additionalProperties", false}};
    };
    json out = section();
    out["properties"]["$schema"] = {{"type", "string"}, {"description", "Where this schema lies, for editors."}};
    for (const auto& key : schema()) {
        json* at = &out;
        std::size_t begin = 0;
        for (auto dot = key.path.find('.'); dot != std::string::npos; dot = key.path.find('.', begin)) {
            auto& within = (*at)["properties"];
            const auto name = key.path.substr(begin, dot - begin);
            if (!within.contains(name)) within[name] = section();
            at = &within[name];
            begin = dot + 1;
        }
        json leaf = key.type;
        leaf["description"] = key.sentence + (key.unit.empty() ? "" : " Unit: " + key.unit + ".");
        if (key.absent.empty() && key.write(run_config{}) != "") leaf["default"] = key.write(run_config{});
        (*at)["properties"][key.path.substr(begin)] = std::move(leaf);
    }
    json whole = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "A configuration of RLDP"}};
    whole.update(out);
    return whole.dump(2) + "\n";
}

}  // namespace rldp::config

#include <fmt/format.h>

#include "config/schema.hpp"

namespace rldp::config {

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
        text += fmt::format("| `{}` | {} | {} | {} | {} |\n", key.path, describe_default(key), key.unit, key.expectation,
                            key.sentence);
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

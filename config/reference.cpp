#include <fmt/format.h>

#include "config/schema.hpp"

namespace rldp::config {

namespace {

std::string section_of(const key& key) {
    return key.path.substr(0, key.path.find('.'));
}

/// A section's keys share a table; those outside every section share one, too.
std::string title_of(const key& key) {
    return key.path.find('.') == std::string::npos ? "top level" : section_of(key);
}

std::string default_of(const key& key) {
    if (!key.absent.empty()) return key.absent;
    const auto value = key.write(run_config{}).dump();
    return value == R"("")" ? "required" : fmt::format("`{}`", value);
}

}  // namespace

std::string reference_markdown() {
    std::string text, title;
    for (const auto& key : schema()) {
        if (title_of(key) != title) {
            title = title_of(key);
            text +=
                fmt::format("{}### {}\n\n| key | default | unit | takes | meaning |\n| --- | --- | --- | --- | --- |\n",
                            text.empty() ? "" : "\n", title);
        }
        text += fmt::format("| `{}` | {} | {} | {} | {} |\n", key.path, default_of(key), key.unit, key.expectation,
                            key.sentence);
    }
    return text;
}

}  // namespace rldp::config

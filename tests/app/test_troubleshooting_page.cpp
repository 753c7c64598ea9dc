// docs/troubleshooting.md quotes what the program says.
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

namespace {

namespace fs = std::filesystem;

/// All sources, with literals that a line end cuts put together again.
std::string all_sources() {
    std::string out;
    for (const auto* room : {"actors", "app", "base", "config", "data", "eval", "models", "monitor", "privacy", "run"})
        for (const auto& each : fs::recursive_directory_iterator(room))
            if (each.path().extension() == ".cpp") out += rldp::read_file(each.path());
    std::string joined;
    for (std::size_t at = 0; at < out.size(); ++at) {
        const auto next = out[at] == '"' ? out.find_first_not_of(" \n", at + 1) : std::string::npos;
        if (next != std::string::npos && next > at + 1 && out[next] == '"' && out.find('\n', at) < next)
            at = next;
        else
            joined += out[at];
    }
    return joined;
}

}  // namespace

TEST_CASE("every refusal that docs/troubleshooting.md explains is one that the program has") {
    const auto sources = all_sources();
    const auto page = rldp::read_file("docs/troubleshooting.md");
    const std::regex row("\n\\| `([^`]+)` \\|"), cut("…");
    std::size_t rows = 0;
    for (std::sregex_iterator each(page.begin(), page.end(), row), none; each != none; ++each, ++rows) {
        const auto quoted = (*each)[1].str();
        INFO(quoted);
        for (std::sregex_token_iterator part(quoted.begin(), quoted.end(), cut, -1), end; part != end; ++part) {
            auto text = part->str();
            for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) text.insert(at, "\\");
            INFO(text);
            CHECK(has(sources, text));
        }
    }
    CHECK(rows >= 20);
}

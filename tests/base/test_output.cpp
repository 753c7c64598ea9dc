// What is said: texts from files stay in their line, and no terminal obeys them.
#include <cstdio>
#include <memory>

#include "base/files.hpp"
#include "base/output.hpp"
#include "tests/catch.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;

namespace {

template <class Say>
std::string said(const Say& what) {
    const scratch_directory scratch;
    const auto path = scratch.path() / "out";
    {
        const std::unique_ptr<std::FILE, int (*)(std::FILE*)> to(std::fopen(path.c_str(), "w"), std::fclose);
        what(to.get());
    }
    return read_file(path);
}

}  // namespace

TEST_CASE("a text that is put into a sentence can't end its line, move the cursor or turn the writing") {
    const std::string hostile =
        "a\nchecked\r\x1b[2J\x07\x7f\xC2\x9B"
        "1m\xE2\x80\xAE"
        "b\xE2\x81\xA6";
    const std::string shown = "a?checked??[2J???1m?b?";
    CHECK(said([&](auto* to) { say(to, "unit: {}\n", hostile); }) == "unit: " + shown + "\n");
    CHECK(said([&](auto* to) { say(to, "{}{:>3}\n", hostile.c_str(), 7); }) == shown + "  7\n");
    CHECK(said([&](auto* to) { say(to, "{:<24}|\n", std::string_view(hostile)); }) == shown + "  |\n");
    CHECK(said([&](auto* to) { say(to, "{}{}\n", terminal_control{"\x1b[K"}, hostile); }) == "\x1b[K" + shown + "\n");
    CHECK(said([&](auto* to) { say_text("one\n\ttwo\x1b[2J\n", to); }) == "one\n\ttwo?[2J\n");
    CHECK(printable("Ångström – ε ≤ 8 “é”") == "Ångström – ε ≤ 8 “é”");
}

#include "data/units/record_net.hpp"

#include "tests/catch.hpp"

using namespace rldp::data;

namespace {

record text(const std::string& what) {
    return {.text = what, .key = {}, .group = {}};
}

/// "He is V and V", told by a template.
record row(const std::string& a, const std::string& b) {
    record out = text("He is " + a + " and " + b);
    out.clauses = {{0, {0, 6 + a.size()}, {{6, 6 + a.size()}}},
                   {1, {6 + a.size(), out.text.size()}, {{11 + a.size(), out.text.size()}}}};
    return out;
}

const std::string note = "on the second day the fever fell and she could walk to the window without help again";

}  // namespace

TEST_CASE("a record is found again in other white space, case, punctuation and forms of characters") {
    record_net net;
    net.add(text("Mrs. Ångström, 71, was fine after the fever"));
    for (const char* again :
         {"Mrs. Ångström, 71, was fine after the fever", "Mrs. Ångström, 71, was fine after the fever ",
          "\tmrs ÅNGSTRÖM 71 was  fine after the fever\r",
          "Mrs. A\xCC\x8Angstro\xCC\x88m, 71, was fine after the fever",
          "Mrs.\xC2\xA0Ångström, \xEF\xBC\x97\xEF\xBC\x91, was \xEF\xAC\x81ne after the fever"})
        CHECK(net.holds(text(again)));
    CHECK_FALSE(net.holds(text("Mrs. Ångström, 72, was fine after the fever")));
    CHECK_FALSE(net.holds(text("")));
    CHECK_FALSE(net.holds(text("...")));
}

TEST_CASE("a passage of thirteen words is found in another text, and shorter ones are not") {
    record_net net;
    net.add(text("Discharge. " + note + ", and went home."));
    CHECK(net.holds(text("We saw that ON THE SECOND DAY the fever fell -- and she could walk to the window.")));
    CHECK_FALSE(net.holds(text("We saw that on the second day the fever fell and she could walk to bed.")));
}

TEST_CASE("conversations are told apart although they begin alike, and found by their answers") {
    const auto talk = [](const std::string& answer) {
        record out = text(note + ". " + answer);
        out.answers = {{note.size() + 2, out.text.size()}};
        return out;
    };
    record_net net;
    net.add(talk("Yes, " + std::string(note.rbegin(), note.rend())));
    CHECK_FALSE(net.holds(talk("No.")));
    CHECK(net.holds(talk("Well, " + std::string(note.rbegin(), note.rend()))));
}

TEST_CASE("a template's own words match nothing, rows are found by their values") {
    record_net net;
    net.add(row("tall", "seventy one"));
    net.add(row("short", note));
    CHECK(net.holds(row("Tall", "seventy-one")));
    CHECK_FALSE(net.holds(row("tall", "seventy two")));
    CHECK_FALSE(net.holds(row("tall seventy", "one")));
    CHECK(net.holds(row("blind", "said that " + note)));  // a passage of one value
    CHECK(net.holds(text("whoever " + note)));
    record_net template_words;
    record rendered = text(note + " V");
    rendered.clauses = {{0, {0, rendered.text.size()}, {{rendered.text.size() - 1, rendered.text.size()}}}};
    template_words.add(rendered);
    CHECK_FALSE(template_words.holds(text(note + " W")));
}

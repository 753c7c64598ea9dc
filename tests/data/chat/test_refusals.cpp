#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/data/chat/try_template.hpp"
#include "tests/support/refusal.hpp"

namespace {

std::string refused(const std::string& source) {
    return refusal([&] { rendered(source); });
}

std::string repeated(const std::string& what, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += what;
    return out;
}

}  // namespace

TEST_CASE("what is not supported is refused in one line that names file, line and thing") {
    const std::vector<std::pair<std::string, std::string>> all = {
        {"{% include 'x' %}", "the tag 'include' is not supported"},
        {"{% block x %}{% endblock %}", "the tag 'block' is not supported"},
        {"{% raw %}{{ x }}{% endraw %}", "the tag 'raw' is not supported"},
        {"{% call m() %}{% endcall %}", "the tag 'call' is not supported"},
        {"{% for x in [1] recursive %}{% endfor %}", "a recursive loop"},
        {"{% for x in [1] %}{% macro m() %}{% endmacro %}{% endfor %}", "a macro inside"},
        {"{{ [1]|sort }}", "the filter 'sort' is not supported"},
        {"{{ 1 is sameas 1 }}", "the test 'sameas' is not supported"},
        {"{{ 'a'.zfill(3) }}", "the method 'zfill' of a text is not supported"},
        {"{{ messages.append(1) }}", "the method 'append' of a list is not supported"},
        {"{{ 'a'.strip }}", "the method 'strip' is not called"},
        {"{{ 2 ** 3 }}", "'**' is not supported"},
        {"{{ 'é'|upper }}", "beyond ASCII"},
        {"{{ ['é'] }}", "beyond ASCII"},
        {"{{ strftime_now('%H') }}", "'strftime_now' with %H"},
        {"{{ {'a': 1}|tojson(sort_keys=true) }}", "the argument 'sort_keys' of 'tojson'"},
        {"{{ 'a'|trim(1, 2) }}", "too many arguments"},
        {"{{ m(*[1]) }}", "arguments by *"},
        {"{{ nope.x }}", "'x' of undefined 'nope'"},
        {"{{ nope() }}", "undefined 'nope' can't be called"},
        {"{{ 1 + 'a' }}", "an integer + a text"},
        {"{{ 1 < 'a' }}", "have no order"},
        {"{{ 1 // 0 }}", "a division by zero"},
        {"{{ 9223372036854775807 + 1 }}", "an integer is too large"},
        {"{{ 99999999999999999999 }}", "an integer is too large"},
        {"{{ (-9223372036854775807 - 1) // -1 }}", "an integer is too large"},
        {"{{ 1|length }}", "an integer has no length"},
        {"{{ [1]|map('string')|length }}", "a generator has no length"},
        {"{% set x = [1]|map('string') %}{{ x|list }}{{ x|list }}", "a second time"},
        {"{% for x in 1 %}{% endfor %}", "an integer can't be gone through"},
        {"{% for a, b in [[1]] %}{% endfor %}", "1 values for 2 names"},
        {"{% set messages.x = 1 %}", "'messages' is no namespace"},
        {"{% set loop = 1 %}", "'loop' can't be assigned"},
        {"{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "the macro 'm' is given too many"},
        {"{% macro m(a) %}{% endmacro %}{{ m(b=2) }}", "no parameter 'b'"},
        {"{{ raise_exception('roles\\nmust alternate') }}", "the template refuses: roles?must alternate"},
        {"{% if true %}", "the template ends before 'endif'"},
        {"{% endfor %}", "the tag 'endfor' closes nothing"},
        {"{% break %}", "outside of a loop"},
        {"{{ 1", "the template ends inside of a tag"},
        {"{{ 'a", "a text is not closed"},
        {"{# a", "a comment is not closed"},
        {"{{ 1 2 }}", "'2' is not expected here"},
        {"{{ }}", "an expression ends too early"},
        {"{{ a b", "the template ends inside of a tag"},
        {"{{ (1] }}", "']' closes nothing"},
        {"{{ a & b }}", "'&' does not belong into a tag"},
        {"{{ '\\ud800' }}", "names no character"},
        {"{{ 007 }}", "begins with 0"},
    };
    for (const auto& [source, what] : all) {
        const auto line = refused("x\n\n" + source);
        INFO(source << " -> " << line);
        CHECK(has(line, "/chat_template.jinja: line 3: "));
        CHECK(has(line, what));
    }
}

TEST_CASE("what is never reached may be what is not supported, but not what can't be read") {
    CHECK(rendered("{% if tools %}{{ tools|dictsort|unique is sameas 1 }}{% endif %}x") == "x");
    CHECK_FALSE(refused("{% if tools %}{% include 'x' %}{% endif %}x").empty());
}

TEST_CASE("a template can't run for ever, fill the memory or go too deep") {
    const std::vector<std::pair<std::string, std::string>> all = {
        {"{% set r = range(100) %}" + repeated("{% for i in r %}", 5) + repeated("{% endfor %}", 5),
         "runs for too long"},
        {"{% for i in range(9999999999) %}{% endfor %}", "makes too much text"},
        {"{{ 'x' * 9999999999 }}", "makes too much text"},
        {"{{ [1] * 999999999999999999 }}", "too often"},
        {"{{ 'xyz' * 9223372036854775807 }}", "too often"},
        {"{% set ns = namespace(x='abcdefgh') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
         "makes too much text"},
        {"{% set ns = namespace(x=[]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}",
         "nested deeper"},
        {"{% set ns = namespace(x=[]) %}{% for i in range(40) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
         "makes too much text"},
        {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "call one another too deeply"},
        {"{{ " + repeated("(", 5000) + "1", "nested deeper"},
        {"{{ " + repeated("- ", 5000) + "1 }}", "nested deeper"},
        {"{{ " + repeated("not ", 5000) + "1 }}", "nested deeper"},
        {"{{ " + repeated("1 if ", 5000) + "1 }}", ""},
        {"{{ " + repeated("1 + ", 5000) + "1 }}", "deeper than 200 levels"},
        {"{{ 1" + repeated("|string", 5000) + " }}", "deeper than 200 levels"},
        {repeated("{% if 1 %}", 5000), "nested deeper"},
        {repeated("{{ 1 }}", 60000), "too long to be one"},
        {"{{ ('a' * 40000 in 'a' * 80000) }}", "runs for too long"},
        {"{{ 'a'|map('map', 'map', 'upper')|list }}", "'map' of 'map'"},
    };
    for (const auto& [source, what] : all) {
        const auto line = refused(source);
        INFO(source.substr(0, 60) << " -> " << line);
        CHECK(line.size() < 300);
        CHECK(has(line, "/chat_template.jinja: line 1: "));
        CHECK(has(line, what));
    }
}

TEST_CASE("namespaces that hold one another end with their rendering") {
    CHECK(rendered("{% set a = namespace() %}{% set a.b = namespace(c=a) %}{% set a.d = [a] %}{{ a.b.c.b.c == a }}") ==
          "True");
}

TEST_CASE("long conversations are granted more") {
    const auto copies =
        as_template("{% for m in messages %}{% for i in range(20) %}{{ m.content|trim ~ '' }}{% endfor %}{% endfor %}");
    const std::vector<rldp::data::chat_message> talk(30, {"user", std::string(10'000, 'x')});
    CHECK(copies.render(talk, false).size() == std::size_t{30} * 20 * 10'000);
}

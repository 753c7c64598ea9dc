// Languages of bytes and the tokens that go on in them, against all short texts tried one by one.
#include <algorithm>
#include <functional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "data/grammar/code_pattern.hpp"
#include "data/grammar/dates.hpp"
#include "data/grammar/parts.hpp"
#include "data/grammar/vocabulary.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp::data;

namespace {

/// All texts of the alphabet up to a length.
std::vector<std::string> all_texts(const std::string& alphabet, std::size_t longest) {
    std::vector<std::string> out = {""};
    for (std::size_t i = 0; i < out.size(); ++i)
        if (out[i].size() < longest)
            for (const char c : alphabet) out.push_back(out[i] + c);
    return out;
}

/// Whether the language is the texts that `belongs` says, none of which is longer than `longest`: what begins one, ends
/// and goes on, and no other text does.
void check_language(const language& made, const std::string& alphabet, std::size_t longest,
                    const std::function<bool(const std::string&)>& belongs) {
    const auto texts = all_texts(alphabet, longest);
    std::set<std::string> whole, begun;
    for (const auto& text : texts)
        if (belongs(text)) {
            whole.insert(text);
            for (std::size_t n = 0; n <= text.size(); ++n) begun.insert(text.substr(0, n));
        }
    REQUIRE_FALSE(whole.empty());
    std::size_t wrong = 0;
    for (const auto& text : texts) {
        const auto at = made.next(made.begin(), text);
        if (at.empty() == begun.contains(text) || made.ends(at) != whole.contains(text)) {
            UNSCOPED_INFO("\"" << text << "\"");
            ++wrong;
        }
    }
    CHECK(wrong == 0);
}

/// The tokens after every beginning, against each token tried by itself; and that rows of tokens spell the language.
void check_tokens(const language& made, const std::vector<std::string>& spelled, std::size_t longest) {
    const vocabulary tokens(spelled);
    const std::function<void(const places&, std::size_t)> walk = [&](const places& at, std::size_t depth) {
        std::vector<std::int32_t> expected;
        for (std::size_t id = 0; id < spelled.size(); ++id)
            if (!spelled[id].empty() && !made.next(at, spelled[id]).empty())
                expected.push_back(static_cast<std::int32_t>(id));
        REQUIRE(tokens.admissible(made, at) == expected);
        if (depth < longest)
            for (const auto id : expected) walk(made.next(at, spelled[static_cast<std::size_t>(id)]), depth + 1);
    };
    walk(made.begin(), 0);
}

language of(std::shared_ptr<const part> one) {
    return language({{std::move(one)}});
}

bool is_number(const std::string& text, const number_range& range) {
    static const std::regex shape("-?(0|[1-9][0-9]*)(\\.[0-9]+)?");
    if (!std::regex_match(text, shape)) return false;
    const auto units = range.read(text);
    return units && range.holds(*units) && !(text.front() == '-' && *units == 0);
}

}  // namespace

TEST_CASE("words: those of the list and no others, also where one begins another") {
    const std::vector<std::string> words = {"a", "ab", "abba", "b", "ba"};
    check_language(of(make_words(words)), "abc", 5,
                   [&](const auto& text) { return std::find(words.begin(), words.end(), text) != words.end(); });
    check_language(of(make_words({"", "a"})), "ab", 3, [](const auto& text) { return text.size() < 2 && text != "b"; });
    check_tokens(of(make_words(words)), {"a", "b", "ab", "bb", "abba", "c", "", "ba", "a"}, 4);
}

TEST_CASE("numbers: those of the range and its step, written as numbers are") {
    for (const number_range& range :
         {number_range{0, 120, 1, 0}, number_range{9, 9, 1, 0}, number_range{-12, 105, 1, 0},
          number_range{-30, -4, 2, 0}, number_range{5, 990, 35, 0}, number_range{0, 99, 1, 1},
          number_range{-15, 25, 5, 1}, number_range{995, 1005, 1, 1}, number_range{5, 205, 25, 2},
          number_range{0, 0, 1, 1}, number_range{100, 100, 1, 0}}) {
        CAPTURE(range.low, range.high, range.step, range.decimals);
        const auto made = of(make_number(range));
        check_language(made, "-.0159", 5, [&](const auto& text) { return is_number(text, range); });
        check_tokens(made, {"-", ".", "0", "1", "5", "9", "10", "15", ".5", "5.", "-1", "00", "1.5", "x"}, 3);
    }
}

TEST_CASE("numbers of many digits are told apart at the ends of their range") {
    const number_range range{100'000'000'000'001, 999'999'999'999'999, 1, 2};
    const auto made = of(make_number(range));
    const auto belongs = [&](const std::string& text) { return made.ends(made.next(made.begin(), text)); };
    CHECK(belongs("1000000000000.01"));
    CHECK_FALSE(belongs("1000000000000"));
    CHECK_FALSE(belongs("1000000000000.00"));
    CHECK(belongs("9999999999999.99"));
    CHECK(made.next(made.begin(), "10000000000000").empty());
    CHECK(range.spell(100'000'000'000'010) == "1000000000000.1");
}

TEST_CASE("codes: what a regular expression matches") {
    for (const std::string pattern :
         {"[A-B][0-1]{2}(\\.[01])?", "(A|AB|0{1,3})B?", "A?B?", "[01]{0,2}(A|B){2}", "\\(A\\)"}) {
        CAPTURE(pattern);
        const std::regex expected(pattern);
        const auto made = of(make_code(pattern));
        check_language(made, "AB01.()", 5, [&](const auto& text) { return std::regex_match(text, expected); });
        check_tokens(made, {"A", "B", "0", "1", ".", "A0", "01", "00", "AB", "0.", "(", "A)", "C"}, 4);
    }
}

TEST_CASE("codes: a character of several bytes is one") {
    const auto spells = [](const std::string& pattern, const std::string& text) {
        const auto made = of(make_code(pattern));
        return made.ends(made.next(made.begin(), text));
    };
    CHECK(spells("Aé?", "A"));
    CHECK(spells("Aé?", "Aé"));
    CHECK_FALSE(spells("Aé?", "A\xc3"));
    CHECK(spells("€{2}", "€€"));
    CHECK_FALSE(spells("€{2}", "€\xac"));
    CHECK(spells("\\é \\^x", "é ^x"));
    CHECK(spells("[\\^A]", "^"));
}

TEST_CASE("patterns that have no end, or are none, are refused") {
    const auto said = [](const std::string& pattern) { return refusal([&] { make_code(pattern); }); };
    CHECK(has(said("[A-Z]*"), "has *"));
    CHECK(has(said("A+"), "has +"));
    CHECK(has(said("A.B"), "has ."));
    CHECK(has(said("[A-"), "has [ without ]"));
    CHECK(has(said("(A"), "has ( without )"));
    CHECK(has(said("A)"), "has a ) that nothing opened"));
    CHECK(has(said("[]"), "with nothing in it"));
    CHECK(has(said("[Z-A]"), "that falls"));
    CHECK(has(said("[^A]"), "has [^"));
    CHECK(has(said("A\x7f"), "control character"));
    CHECK(has(said("A\\\n"), "control character"));
    CHECK(has(said("A\xc2\x80"), "control character"));
    CHECK(has(said("A\xc3"), "no UTF-8"));
    CHECK(has(said("A{3,1}"), "from more to fewer"));
    CHECK(has(said("A{1000000}"), "none from 0 to 200"));
    CHECK(has(said("\\d"), "which it does not know"));
    CHECK(has(said("A\\"), "ends with a backslash"));
    CHECK(has(said(""), "spells nothing"));
    CHECK(has(said("A??"), "twice how often"));
    CHECK(has(said("((((((A{100}){100}){100}){100}))))"), "asks for too much"));
    CHECK(has(said(std::string(5000, '(')), "nests too deep"));
}

TEST_CASE("text: characters of UTF-8, so many at most, none of control") {
    const auto made = of(make_text(2));
    const auto belongs = [&](const std::string& text) { return made.ends(made.next(made.begin(), text)); };
    for (const auto* good : {"a", "ab", "é", "é€", "😀", "a ", "~", "\xc2\xa0"}) CHECK(belongs(good));
    for (const auto* bad : {"", " a", "abc", "\n", "a\t", "\x7f", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
                            "\xf4\x90\x80\x80", "\xff", "\xc2\x85", "\x80"})
        CHECK_FALSE(belongs(bad));
    check_language(made, "a \xc3\xa9", 5, [](const std::string& text) {
        if (text.empty() || text.front() == ' ') return false;
        std::size_t characters = 0;
        for (std::size_t i = 0; i < text.size(); ++characters) {
            if (text[i] == 'a' || text[i] == ' ')
                ++i;
            else if (text[i] == '\xc3' && i + 1 < text.size() && text[i + 1] == '\xa9')
                i += 2;
            else
                return false;
        }
        return characters <= 2;
    });
    check_tokens(made, {"a", " ", "\xc3", "\xa9", "a\xc3", "\xa9 ", "é", "aa", "aaa"}, 4);
}

TEST_CASE("parts in a row, and forms side by side") {
    const language made(
        {{make_words({"x"}), make_number({0, 15, 1, 1}), make_words({".", "!"})}, {make_words({"x0."})}});
    check_language(made, "x01.!5", 5, [](const std::string& text) {
        static const std::regex shape("x((0|1)(\\.[0-9])?)[.!]");
        std::smatch found;
        if (!std::regex_match(text, found, shape)) return false;
        return is_number(found[1], {0, 15, 1, 1});
    });
    check_tokens(made, {"x", "x0", "0", "1", ".", ".0", "0.", "!", "5", ".5.", "1!"}, 4);
}

TEST_CASE("lists of tokens are the same wherever none tells places apart") {
    const auto made = of(make_text(50));
    const auto at = made.next(made.begin(), "abc"), later = made.next(made.begin(), "abcdefg");
    CHECK(at != later);
    CHECK(made.within(at, 8) == made.within(later, 8));
    CHECK(made.within(at, 45) != made.within(later, 45));
}

TEST_CASE("dates: every day once, as the format writes it") {
    CHECK(read_iso_date("1970-01-01") == 0);
    CHECK(read_iso_date("2024-02-29").has_value());
    for (const auto* bad :
         {"2023-02-29", "2024-2-09", "2024-13-01", "24-01-01", "2024/01/01", "", "0000-01-01", "2024-00-10"})
        CHECK_FALSE(read_iso_date(bad));
    const auto first = *read_iso_date("2023-12-30"), last = *read_iso_date("2024-03-01");
    const auto days = list_dates(first, last, "%d.%m.%Y");
    CHECK(days.size() == 63);
    CHECK(days.front() == "30.12.2023");
    CHECK(std::find(days.begin(), days.end(), "29.02.2024") != days.end());
    CHECK(list_dates(first, last, "%Y-%m") == std::vector<std::string>{"2023-12", "2024-01", "2024-02", "2024-03"});
    CHECK_FALSE(find_fault_of_date_format("%Y"));
    CHECK(find_fault_of_date_format("%d/%m") == "has no %Y");
    CHECK(find_fault_of_date_format("%H:%M") == "knows %Y, %m and %d only");
    CHECK(find_fault_of_date_format("%Y%Y") == "has %Y twice");
    CHECK(find_fault_of_date_format("%d.%Y") == "has %d without %m");
    CHECK(find_fault_of_date_format("%Y%").has_value());
}

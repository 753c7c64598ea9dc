// Ordinary English prose from a seeded grammar (grammar.hpp).
#include <fmt/format.h>

#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "models/research/grammar.hpp"
#include "models/research/pretrain.hpp"

namespace rldp::models {

namespace {

using alternatives = std::vector<std::string_view>;

std::string_view trim(std::string_view text) {
    const auto begin = text.find_first_not_of(" \n");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \n") - begin + 1);
}

/// Rules by name. A rule is "name = alternative | alternative;", over as many lines as it likes.
const std::map<std::string_view, alternatives>& grammar() {
    static const auto rules = [] {
        std::map<std::string_view, alternatives> out;
        for (auto rest : prose_grammar()) {
            for (std::size_t end; (end = rest.find(';')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
                const auto rule = rest.substr(0, end);
                const auto equals = rule.find('=');
                auto& list = out[trim(rule.substr(0, equals))];
                for (auto body = rule.substr(equals + 1);;) {
                    const auto bar = body.find('|');
                    list.push_back(trim(body.substr(0, bar)));
                    if (bar == std::string_view::npos) break;
                    body.remove_prefix(bar + 1);
                }
            }
        }
        return out;
    }();
    return rules;
}

char upper(char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

/// Writes one passage. The same names come again in it: {x:rule} expands `rule` once and keeps it as x.
class writer {
  public:
    explicit writer(std::mt19937_64& random) : random_(random) {}

    std::string expand(std::string_view text) {
        std::string out;
        for (std::size_t at = 0; at < text.size();) {
            const auto open = std::min(text.find('{', at), text.size());
            out += text.substr(at, open - at);
            if (open == text.size()) break;
            const auto close = text.find('}', open);
            out += fill(text.substr(open + 1, close - open - 1));
            at = close + 1;
        }
        return out;
    }

  private:
    /// Uniform in [0, n) up to a bias of n/2^64; unlike the standard distributions the same everywhere.
    std::uint64_t draw(std::uint64_t n) { return random_() % n; }

    /// {rule}, {Rule} (capitalised), {name:rule}, {#low-high} (a number), {@A99} (a code), {*low-high rule} (repeated).
    std::string fill(std::string_view slot) {
        if (slot.front() == '#') return std::to_string(number(slot.substr(1)));
        if (slot.front() == '@') return code(slot.substr(1));
        if (slot.front() == '*') return repeat(slot.substr(1));
        if (slot.front() >= 'A' && slot.front() <= 'Z') {
            std::string name(slot);
            name.front() = static_cast<char>(name.front() - 'A' + 'a');
            auto text = fill(name);
            text.front() = upper(text.front());
            return text;
        }
        const auto colon = slot.find(':');
        if (colon == std::string_view::npos) return choose(slot);
        const auto [kept, fresh] = kept_.try_emplace(std::string(slot.substr(0, colon)));
        if (fresh) kept->second = choose(slot.substr(colon + 1));
        return kept->second;
    }

    std::string choose(std::string_view rule) {
        const auto found = grammar().find(rule);
        if (found == grammar().end()) throw std::logic_error(fmt::format("the prose grammar has no rule '{}'", rule));
        return expand(found->second[draw(found->second.size())]);
    }

    std::uint64_t number(std::string_view range) {
        const auto dash = range.find('-');
        const auto low = std::stoull(std::string(range.substr(0, dash)));
        const auto high = std::stoull(std::string(range.substr(dash + 1)));
        return low + draw(high - low + 1);
    }

    /// A for a capital, a for a small letter, 9 for a digit, X for a capital or a digit; the rest as it is.
    std::string code(std::string_view pattern) {
        constexpr std::string_view digits_and_capitals = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        std::string out;
        for (const char c : pattern) {
            if (c == 'A')
                out += digits_and_capitals[10 + draw(26)];
            else if (c == 'a')
                out += static_cast<char>('a' + draw(26));
            else if (c == '9')
                out += digits_and_capitals[draw(10)];
            else if (c == 'X')
                out += digits_and_capitals[draw(36)];
            else
                out += c;
        }
        return out;
    }

    std::string repeat(std::string_view slot) {
        const auto space = slot.find(' ');
        std::string out;
        for (auto left = number(slot.substr(0, space)); left > 0; --left) {
            if (!out.empty()) out += ' ';
            out += fill(slot.substr(space + 1));
        }
        return out;
    }

    std::mt19937_64& random_;
    std::map<std::string, std::string> kept_;
};

/// "a~ apple" becomes "an apple".
void choose_articles(std::string& text) {
    for (auto at = text.find('~'); at != std::string::npos; at = text.find('~', at)) {
        const bool vowel =
            at + 2 < text.size() && std::string_view("aeiouAEIO").find(text[at + 2]) != std::string_view::npos;
        if (vowel)
            text[at] = 'n';
        else
            text.erase(at, 1);
    }
}

}  // namespace

std::vector<std::string> make_synthetic_text(std::int64_t count, std::int64_t seed) {
    if (count < 0) refuse(fmt::format("passages of prose: {} must not be negative", count));
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    std::vector<std::string> passages;
    for (std::int64_t i = 0; i < count; ++i) {
        passages.push_back(writer(random).expand("{passage}"));
        choose_articles(passages.back());
    }
    return passages;
}

}  // namespace rldp::models

#include "data/grammar/code_pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <map>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "data/grammar/parts.hpp"

namespace rldp::data {

namespace {

constexpr std::size_t most_code_states = 4000;

/// Thompson's construction (1968): each piece of the pattern has one way in and one way out.
struct code_machine {
    struct state {
        std::bitset<256> bytes;  ///< that lead to `to`
        std::size_t to = 0;
        std::vector<std::size_t> free;  ///< reached without a byte
    };
    std::vector<state> states;

    std::size_t add() {
        if (states.size() == most_code_states) refuse("asks for too much; repeat less");
        states.emplace_back();
        return states.size() - 1;
    }
};

struct fragment {
    std::size_t in, out;
};

class code_parser {
  public:
    code_parser(std::string_view text, code_machine& into) : text_(text), machine_(into) {}

    fragment parse() {
        const auto all = alternatives(0);
        if (at_ < text_.size()) refuse("has a ) that nothing opened");
        return all;
    }

  private:
    bool more() const { return at_ < text_.size(); }
    bool take(char c) {
        if (!more() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    fragment alternatives(int depth) {
        if (depth > 20) refuse("nests too deep");
        auto all = sequence(depth);
        while (take('|')) {
            const auto other = sequence(depth);
            const fragment both{machine_.add(), machine_.add()};
            machine_.states[both.in].free = {all.in, other.in};
            machine_.states[all.out].free.push_back(both.out);
            machine_.states[other.out].free.push_back(both.out);
            all = both;
        }
        return all;
    }

    fragment sequence(int depth) {
        const auto begin = machine_.add();
        fragment all{begin, begin};
        while (more() && text_[at_] != '|' && text_[at_] != ')') {
            const auto one = repeated(depth);
            machine_.states[all.out].free.push_back(one.in);
            all.out = one.out;
        }
        return all;
    }

    fragment repeated(int depth) {
        const auto from = at_;
        auto one = atom(depth);
        const auto end = at_;
        int least = 1, most = 1;
        if (take('?'))
            least = 0;
        else if (take('{')) {
            least = most = number();
            if (take(',')) most = number();
            if (!take('}')) refuse("has { without }");
            if (most < least || most == 0) refuse("repeats from more to fewer, or 0 times");
        }
        const auto after = at_;
        // The atom is read again for each time that it may stand.
        fragment all{machine_.add(), 0};
        all.out = all.in;
        std::vector<std::size_t> ways_out;
        for (int i = 0; i < most; ++i) {
            if (i > 0) {
                at_ = from;
                one = atom(depth);
                require(at_ == end, "an atom read twice");
            }
            if (i >= least) ways_out.push_back(all.out);
            machine_.states[all.out].free.push_back(one.in);
            all.out = one.out;
        }
        at_ = after;
        for (const auto way : ways_out) machine_.states[way].free.push_back(all.out);
        if (more() && (text_[at_] == '?' || text_[at_] == '{')) refuse("says twice how often");
        return all;
    }

    int number() {
        int out = 0;
        const auto from = at_;
        while (more() && text_[at_] >= '0' && text_[at_] <= '9' && out < 1000) out = 10 * out + (text_[at_++] - '0');
        if (at_ == from || out > 200) refuse("repeats a number of times that is none from 0 to 200");
        return out;
    }

    fragment atom(int depth) {
        if (take('(')) {
            const auto inside = alternatives(depth + 1);
            if (!take(')')) refuse("has ( without )");
            return inside;
        }
        const auto begin = machine_.add();
        fragment all{begin, begin};
        if (take('[')) {
            lead(all, list());
            return all;
        }
        for (const char c : character()) {
            std::bitset<256> one;
            lead(all, one.set(static_cast<std::uint8_t>(c)));
        }
        return all;
    }

    /// One byte further.
    void lead(fragment& all, const std::bitset<256>& bytes) {
        const auto to = machine_.add();
        machine_.states[all.out].bytes = bytes;
        machine_.states[all.out].to = to;
        all.out = to;
    }

    /// The bytes of one character.
    std::string_view character() {
        const bool escaped = take('\\');
        if (!more()) refuse("ends with a backslash");
        const char c = text_[at_];
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (escaped && plain) refuse(fmt::format("has \\{}, which it does not know; write [0-9] and the like", c));
        if (!escaped && std::string_view("*+.^$?{}]").find(c) != std::string_view::npos)
            refuse(fmt::format("has {0}, which has no end or means something elsewhere; put a backslash before it", c));
        const auto text = make_text(1);
        auto at = text->begin();
        const auto from = at_;
        // A blank is none that a text begins with.
        if (take(' ')) return text_.substr(from, 1);
        do {
            const auto to = more() ? text->next(at, static_cast<std::uint8_t>(text_[at_])) : std::nullopt;
            if (!to) refuse("has a control character, or bytes that are no UTF-8");
            at = *to;
            ++at_;
        } while (!text->ends(at));
        return text_.substr(from, at_ - from);
    }

    std::bitset<256> list() {
        if (more() && text_[at_] == '^')
            refuse("has [^, which would say what may not stand; list what may, or put a backslash before ^");
        std::bitset<256> out;
        while (!take(']')) {
            if (!more()) refuse("has [ without ]");
            const auto low = in_list();
            auto high = low;
            if (at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']') {
                ++at_;
                high = in_list();
            }
            if (high < low) refuse("has a range in [] that falls");
            for (int c = low; c <= high; ++c) out.set(static_cast<std::size_t>(c));
        }
        if (out.none()) refuse("has [] with nothing in it");
        return out;
    }

    std::uint8_t in_list() {
        if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
        const auto c = static_cast<std::uint8_t>(text_[at_++]);
        if (c < 0x20 || c >= 0x7f) refuse("has something else than printable ASCII in []");
        return c;
    }

    std::string_view text_;
    code_machine& machine_;
    std::size_t at_ = 0;
};

/// Of sets of the machine's states (Rabin and Scott 1959). Every state leads to an end.
class code_part final : public part {
  public:
    explicit code_part(std::string_view pattern) {
        code_machine machine;
        const auto all = code_parser(pattern, machine).parse();
        std::map<std::set<std::size_t>, std::int64_t> known;
        std::vector<std::set<std::size_t>> open;
        const auto number = [&](std::set<std::size_t> of) {
            follow(machine, of);
            const auto [at, fresh] = known.emplace(std::move(of), std::ssize(open));
            if (fresh) open.push_back(at->first);
            return at->second;
        };
        number({all.in});
        for (std::size_t i = 0; i < open.size(); ++i) {
            if (open.size() > most_code_states) refuse("asks for too much; repeat less");
            std::array<std::int32_t, 256> to{};
            const auto here = open[i];
            for (std::size_t byte = 0; byte < 256; ++byte) {
                std::set<std::size_t> reached;
                for (const auto s : here)
                    if (machine.states[s].bytes[byte]) reached.insert(machine.states[s].to);
                to[byte] = reached.empty() ? -1 : static_cast<std::int32_t>(number(std::move(reached)));
            }
            to_.push_back(to);
            ends_.push_back(here.contains(all.out));
        }
        if (to_.size() == 1) refuse("spells nothing");
    }
    mark begin() const override { return {}; }
    std::optional<mark> next(const mark& at, std::uint8_t byte) const override {
        const auto to = to_[static_cast<std::size_t>(at.a)][byte];
        return to < 0 ? std::nullopt : std::optional(mark{to, 0, 0});
    }
    bool ends(const mark& at) const override { return ends_[static_cast<std::size_t>(at.a)]; }

  private:
    static void follow(const code_machine& machine, std::set<std::size_t>& all) {
        std::vector<std::size_t> open(all.begin(), all.end());
        while (!open.empty()) {
            const auto from = open.back();
            open.pop_back();
            for (const auto to : machine.states[from].free)
                if (all.insert(to).second) open.push_back(to);
        }
    }

    std::vector<std::array<std::int32_t, 256>> to_;
    std::vector<bool> ends_;
};

}  // namespace

std::shared_ptr<const part> make_code(std::string_view pattern) {
    return std::make_shared<code_part>(pattern);
}

}  // namespace rldp::data

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "data/chat/answers.hpp"
#include "data/chat/interpreter.hpp"
#include "data/chat/python_text.hpp"

namespace rldp::data {

namespace {

constexpr std::size_t most_messages = 0xfffd;  // code points of Unicode's plane 15, which is for private use

std::string make_owner_character(std::size_t owner) {
    const auto low = [&](unsigned shift) { return static_cast<char>(0x80 | (owner >> shift & 0x3f)); };
    return {'\xf3', static_cast<char>(0xb0 | owner >> 12), low(6), low(0)};
}

std::uint32_t read_owner(std::string_view character) {
    const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(character[at] & 0xff); };
    if (character.size() != 4 || byte(0) != 0xf3 || byte(1) < 0xb0) return 0;
    return (byte(1) & 0xf) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
}

/// The bytes of `text` that belong to a literal.
std::vector<bool> literal_bytes(std::string_view text, const std::vector<std::string>& literals) {
    std::vector<bool> out(text.size());
    for (const auto& literal : literals)
        for (auto at = text.find(literal); at != std::string_view::npos; at = text.find(literal, at + 1))
            std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(at), literal.size(), true);
    return out;
}

std::string make_shadow(std::string_view text, std::size_t owner, const std::vector<std::string>& literals) {
    const auto kept = literal_bytes(text, literals);
    const auto shadow = make_owner_character(owner);
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const auto character = jinja::first_character(text.substr(at));
        out += kept[at] || jinja::is_space(character) ? character : std::string_view(shadow);
        at += character.size();
    }
    return out;
}

}  // namespace

std::vector<chat_message> make_shadows(std::span<const chat_message> messages,
                                       const std::vector<std::string>& literals) {
    std::vector<chat_message> out;
    if (messages.size() > most_messages) return out;
    for (const auto& [role, content] : messages) out.push_back({role, make_shadow(content, out.size() + 1, literals)});
    return out;
}

std::optional<byte_owners> find_owners(std::string_view text, std::string_view shadow) {
    byte_owners out;
    while (!text.empty() && !shadow.empty()) {
        const auto written = jinja::first_character(text), traced = jinja::first_character(shadow);
        const auto owner = read_owner(traced);
        if (owner == 0 && written != traced) return std::nullopt;
        out.insert(out.end(), written.size(), owner);
        text.remove_prefix(written.size());
        shadow.remove_prefix(traced.size());
    }
    if (!text.empty() || !shadow.empty()) return std::nullopt;
    return out;
}

namespace {

/// Nothing where the template refuses, as some do conversations of no message.
std::optional<std::string> attempt(const written_talk& talk, std::span<const chat_message> messages, bool prompt) {
    try {
        return talk.render(messages, prompt);
    } catch (const error&) {
        return std::nullopt;
    }
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
    auto same = static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
    while (same < a.size() && same > 0 && (a[same] & 0xc0) == 0x80) --same;  // not within a character
    return same;
}

bool is_blank(std::string_view text) {
    return jinja::stripped(text).empty();
}

/// How much of what stands before an answer is the prompt for it; all of it where the two begin otherwise.
std::size_t prompt_in(std::string_view before, std::string_view prompt) {
    const auto same = common_prefix(before, prompt);
    return is_blank(prompt.substr(same)) ? same : before.size();
}

/// How much of what stands behind an answer ends its turn, given what else may stand there: the tags that both begin
/// with, as </s>, and white space behind them. A tag that only begins alike, or has a word close behind it, as in
/// <|start|>user, is the head of the next turn.
std::size_t turn_end_in(std::string_view behind, std::string_view otherwise) {
    if (behind.starts_with(otherwise)) return 0;  // another answer follows: all of its head is alike
    const auto same = behind.substr(0, common_prefix(behind, otherwise));
    const auto closes = same.find_last_of(">]");
    if (closes == std::string_view::npos) return 0;
    const auto rest = same.substr(closes + 1), next = jinja::stripped(rest, jinja::ends::left);
    if (next.size() < rest.size()) return same.size() - next.size();
    const auto opens = same.find_last_of("<[");
    return opens == std::string_view::npos ? 0 : opens;
}

class answer_finder {
  public:
    answer_finder(const written_talk& talk, const std::string& text)
        : talk_(talk),
          text_(text),
          shadows_(make_shadows(talk.messages, talk.literals)),
          owners_(owners_in(text, shadows_.size(), false)) {}

    /// Whether the text there is, as far as is known, of no message but those of which `may` is true.
    template <class May>
    bool is_only(const text_range& part, May may) const {
        if (!owners_) return true;
        const auto of = std::span(*owners_).subspan(part.begin, part.end - part.begin);
        return std::all_of(of.begin(), of.end(), [&](auto owner) { return owner == 0 || may(owner - 1); });
    }

    /// Of the message of that number; nothing of one that the template leaves out.
    std::optional<text_range> find(std::size_t which) const {
        const auto before = attempt(talk_, talk_.messages.first(which), true);
        const auto with_answer = attempt(talk_, talk_.messages.first(which + 1), false);
        const auto added = before && with_answer ? as_added(*before, *with_answer) : std::nullopt;
        if (added && is_only(*added, [&](std::size_t owner) { return owner == which; })) return added;
        if (!owners_)
            refuse(
                fmt::format("message {} is rendered otherwise once others follow, or without its prompt, so where its "
                            "answer stands is not known; mark answers in the template by {{% generation %}}, or "
                            "give conversations of one answer",
                            which + 1));
        return as_traced(which, before, with_answer);
    }

  private:
    /// Where each rendering is how the next one begins.
    std::optional<text_range> as_added(const std::string& before, const std::string& with_answer) const {
        const auto begin = common_prefix(with_answer, before);
        if (!text_.starts_with(with_answer) || !is_blank(std::string_view(before).substr(begin))) return std::nullopt;
        return text_range{begin, with_answer.size()};
    }

    /// By the answer's own characters, and what the template writes around them.
    std::optional<text_range> as_traced(std::size_t which, const std::optional<std::string>& before,
                                        const std::optional<std::string>& with_answer) const {
        const auto& owners = *owners_;
        const auto mine = static_cast<std::uint32_t>(which + 1);
        const auto foreign = [&](std::uint32_t owner) { return owner != 0 && owner != mine; };
        const auto first = std::find(owners.begin(), owners.end(), mine);
        if (first == owners.end()) return std::nullopt;
        const auto last = std::find(owners.rbegin(), owners.rend(), mine).base();
        if (std::any_of(first, last, foreign))
            refuse(
                fmt::format("the texts of message {} and of others are written into one another, so where its answer "
                            "stands is not known; use another template",
                            which + 1));
        const auto previous = std::find_if(std::reverse_iterator(first), owners.rend(), foreign).base();
        const auto next = std::find_if(last, owners.end(), foreign);
        const auto place = [&](auto at) { return static_cast<std::size_t>(at - owners.begin()); };
        const auto part = [&](auto from, auto to) {
            return std::string_view(text_).substr(place(from), place(to) - place(from));
        };
        const auto asked = behind_last(before, which, true, previous == owners.begin() ? 0 : *(previous - 1));
        const auto lead = part(previous, first);
        return text_range{place(previous) + (asked ? prompt_in(lead, *asked) : lead.size()),
                          place(last) + end_in(part(last, next), which, with_answer)};
    }

    std::size_t end_in(std::string_view behind, std::size_t which,
                       const std::optional<std::string>& with_answer) const {
        const auto mine = static_cast<std::uint32_t>(which + 1);
        const auto alone = behind_last(with_answer, which + 1, false, mine);
        if (alone && behind.starts_with(*alone)) return alone->size();
        const auto asked = behind_last(attempt(talk_, talk_.messages.first(which + 1), true), which + 1, true, mine);
        return std::max(alone ? turn_end_in(behind, *alone) : 0, asked ? turn_end_in(behind, *asked) : 0);
    }

    /// Of `text`, which the template makes of so many messages.
    std::optional<byte_owners> owners_in(const std::string& text, std::size_t messages, bool prompt) const {
        const auto shadow = attempt(talk_, std::span(shadows_).first(messages), prompt);
        return shadow ? find_owners(text, *shadow) : std::nullopt;
    }

    /// What follows all messages in such a text, where `owner` is whose text comes last; 0 where there is none.
    std::optional<std::string> behind_last(const std::optional<std::string>& text, std::size_t messages, bool prompt,
                                           std::uint32_t owner) const {
        const auto owners = text ? owners_in(*text, messages, prompt) : std::nullopt;
        if (!owners) return std::nullopt;
        const auto last = std::find_if(owners->rbegin(), owners->rend(), [](auto one) { return one != 0; }).base();
        if ((last == owners->begin() ? 0 : *(last - 1)) != owner) return std::nullopt;
        return text->substr(static_cast<std::size_t>(last - owners->begin()));
    }

    const written_talk& talk_;
    const std::string& text_;
    std::vector<chat_message> shadows_;
    std::optional<byte_owners> owners_;  // of the text; nothing where the template tells shadows otherwise
};

/// In order; those that touch are one.
std::vector<text_range> joined(std::vector<text_range> parts) {
    std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    std::vector<text_range> out;
    for (const auto& part : parts) {
        if (part.begin == part.end) continue;
        if (!out.empty() && part.begin <= out.back().end)
            out.back().end = std::max(out.back().end, part.end);
        else
            out.push_back(part);
    }
    return out;
}

}  // namespace

std::vector<text_range> generated_answers(const written_talk& talk, const std::string& text,
                                          const std::string& marked) {
    std::vector<text_range> out;
    std::string unmarked;
    std::size_t depth = 0, begin = 0;
    bool whole = true;
    for (const char c : marked) {
        if (c == jinja::answer_begins) {
            if (depth++ == 0) begin = unmarked.size();
        } else if (c == jinja::answer_ends) {
            whole = whole && depth > 0;
            if (depth > 0 && --depth == 0) out.push_back({begin, unmarked.size()});
        } else {
            unmarked += c;
        }
    }
    if (!whole || depth > 0 || unmarked != text)
        refuse(
            "the template changes what a {% generation %} block says, so where answers stand is not known; print it "
            "as it is");
    const answer_finder known(talk, text);
    const auto may_be_learned = [&](std::size_t message) {
        const auto& role = talk.messages[message].role;
        return role != "user" && role != "system";
    };
    for (const auto& each : out)
        if (!known.is_only(each, may_be_learned))
            refuse(
                "a {% generation %} block holds what a user or the system says, which is not to be learned; put it "
                "around answers only");
    return joined(std::move(out));
}

std::vector<text_range> added_answers(const written_talk& talk, const std::string& text) {
    const answer_finder known(talk, text);
    std::vector<text_range> out;
    for (std::size_t i = 0; i < talk.messages.size(); ++i) {
        if (talk.messages[i].role != "assistant") continue;
        if (const auto found = known.find(i)) out.push_back(*found);
    }
    return joined(std::move(out));
}

}  // namespace rldp::data

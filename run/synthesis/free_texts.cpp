#include "run/synthesis/free_texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "models/generate.hpp"

namespace rldp::actors {

namespace {

/// All but what is given.
text_script make_script(const models::tokenizer& words, const text_rule& how) {
    text_script out;
    std::vector<std::string> spelled;
    for (std::int32_t id = 0; id < words.size(); ++id) spelled.push_back(words.spell(id));
    out.tokens = std::make_shared<const data::vocabulary>(std::move(spelled));
    for (const auto id : how.stops) out.stops.push_back(static_cast<std::int32_t>(id));
    std::sort(out.stops.begin(), out.stops.end());
    for (std::int32_t id = 0; id < words.size(); ++id)
        if (!out.tokens->spell(id).empty() || std::binary_search(out.stops.begin(), out.stops.end(), id))
            out.allowed.push_back(id);
    out.one_line = how.one_line;
    return out;
}

/// What the template writes between the things that are said, the last of which is an answer.
std::vector<std::string> find_own_words(const data::chat_template& chat, std::int64_t questions) {
    std::vector<data::chat_message> messages;
    std::vector<std::string> said;
    for (std::int64_t i = 0; i < 2 * questions; ++i) {
        said.push_back(fmt::format("Qz{}x", i));
        messages.push_back({i % 2 == 0 ? "user" : "assistant", said.back()});
    }
    const auto text = chat.render(messages, false);
    std::vector<std::string> out;
    std::size_t at = 0;
    for (const auto& one : said) {
        const auto found = text.find(one, at);
        if (found == std::string::npos || text.find(one, found + 1) != std::string::npos)
            refuse(
                "the model's chat template writes what is said more than once, or not in order; no conversations can "
                "be made with it");
        out.push_back(text.substr(at, found - at));
        at = found + one.size();
    }
    return out;
}

bool is_blank(const std::string& text) {
    return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

class text_drawing final : public drawing {
  public:
    text_drawing(const text_script& script, const row_model& model, const row_sampling& how, std::uint64_t number)
        : script_(script), model_(model), how_(how), number_(number) {}

    std::vector<std::int32_t> begin(std::uint64_t draw) override {
        draw_ = draw;
        step_ = 0;
        said_.assign(1, {});
        drawn_ = 0;
        cut_ = false;
        const auto& given = script_.parts.front().given;
        const auto read = model_.opening.size();
        return {given.begin() + static_cast<std::ptrdiff_t>(read), given.end()};
    }

    bool advance(const float* logits, std::vector<std::int32_t>& unread, row_counts& counts) override {
        if (logits == nullptr) return false;
        const double uniform =
            models::uniform_number(how_.seed, number_, (draw_ << 32U) + static_cast<std::uint64_t>(step_++));
        const auto token =
            choose_token(logits, model_.model->config.vocab, script_.allowed, {}, false, how_.temperature, uniform);
        ++counts.chosen;
        ++drawn_;
        const bool stopped = std::binary_search(script_.stops.begin(), script_.stops.end(), token);
        const auto& bytes = script_.tokens->spell(token);
        const auto line = script_.one_line ? bytes.find('\n') : std::string::npos;
        if (!stopped) said_.back() += bytes.substr(0, line);
        unread.push_back(token);
        const auto part = said_.size() - 1;
        const bool full = drawn_ == script_.parts[part].most;
        if (!stopped && line == std::string::npos && !full) return false;
        cut_ = cut_ || (full && !stopped);
        if (part + 1 == script_.parts.size()) {
            counts.cut += cut_ ? 1 : 0;
            return true;
        }
        // A token that ends a turn is the template's next word.
        const auto& given = script_.parts[part + 1].given;
        const auto from = stopped && !given.empty() && given.front() == token ? 1 : 0;
        unread.insert(unread.end(), given.begin() + from, given.end());
        counts.given += std::ssize(given) - from;
        said_.emplace_back();
        drawn_ = 0;
        return false;
    }

    std::optional<std::vector<std::string>> cells() const override {
        std::vector<std::string> out;
        for (auto text : said_) {
            // A character may have been cut.
            for (int i = 0; i < 3 && cut_ && !is_utf8(text) && !text.empty(); ++i) text.pop_back();
            if (!is_utf8(text) || is_blank(text)) return std::nullopt;
            const auto first = text.find_first_not_of(" \t\r\n");
            out.push_back(text.substr(first, text.find_last_not_of(" \t\r\n") + 1 - first));
        }
        return out;
    }

  private:
    const text_script& script_;
    const row_model& model_;
    const row_sampling& how_;
    std::uint64_t number_, draw_ = 0;
    std::int64_t step_ = 0, drawn_ = 0;  ///< tokens, and those of the part
    std::vector<std::string> said_;
    bool cut_ = false;
};

}  // namespace

std::int64_t text_script::longest() const {
    std::int64_t out = 0;
    for (const auto& one : parts) out += std::ssize(one.given) + one.most;
    return out;
}

text_script make_text_script(const models::tokenizer& words, const text_rule& how) {
    auto out = make_script(words, how);
    auto given = words.encode("");
    if (given.empty() && !how.bos)
        refuse("texts begin with nothing, and the model has no token to begin with; rldp generate continues a prompt");
    if (given.empty()) given.push_back(static_cast<std::int32_t>(*how.bos));
    const auto most = how.most_tokens - std::ssize(given);
    if (most < 1) refuse(fmt::format("a text has {} tokens at most; nothing fits into that", how.most_tokens));
    out.parts.push_back({std::move(given), most});
    return out;
}

text_script make_talk_script(const models::tokenizer& words, const data::chat_template& chat, std::int64_t questions,
                             const text_rule& how) {
    auto out = make_script(words, how);
    std::int64_t given = 0;
    for (const auto& text : find_own_words(chat, questions)) {
        auto ids = words.encode(text);
        // What the tokenizer puts in front of every text stands once.
        if (!out.parts.empty()) {
            const auto front = words.encode("");
            if (ids.size() >= front.size() && std::equal(front.begin(), front.end(), ids.begin()))
                ids.erase(ids.begin(), ids.begin() + std::ssize(front));
        }
        given += std::ssize(ids);
        out.parts.push_back({std::move(ids), 0});
    }
    if (out.parts.front().given.empty()) {
        if (!how.bos) refuse("the model's chat template begins with what is said, and the model has no token to begin");
        out.parts.front().given.push_back(static_cast<std::int32_t>(*how.bos));
        ++given;
    }
    const auto most = (how.most_tokens - given) / std::ssize(out.parts);
    if (most < 1)
        refuse(fmt::format("the words of {} questions and answers take {} of the {} tokens that a record may have",
                           questions, given, how.most_tokens));
    for (auto& part : out.parts) part.most = most;
    return out;
}

std::unique_ptr<drawing> draw_text(const text_script& script, const row_model& model, const row_sampling& how,
                                   std::uint64_t number) {
    return std::make_unique<text_drawing>(script, model, how, number);
}

}  // namespace rldp::actors

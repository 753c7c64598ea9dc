#include "actors/run/answer_ends.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "config/base/error.hpp"
#include "models/architecture/model_config.hpp"

namespace rldp::actors {

namespace {

constexpr std::string_view said = "Hello.";

/// What is learned of an answer, without white space at its end, and what stands before it.
std::optional<std::string> up_to_end(const data::chat_template& how) {
    const std::string hello(said);
    try {
        auto told = how.conversation(std::vector<data::chat_message>{{"user", hello}, {"assistant", hello}});
        if (told.answers.empty()) return std::nullopt;
        told.text.resize(told.answers.back().end);
        told.text.resize(told.text.find_last_not_of(" \t\r\n") + 1);
        return told.text;
    } catch (const error&) {
        return std::nullopt;  // some want other roles; the records will tell
    }
}

bool ends_with_token(const std::filesystem::path& model, const std::string& text, const models::tokenizer& words) {
    const auto ids = words.encode(text);
    if (ids.empty()) return false;
    const auto token = words.added(ids.back()).text;
    const auto stops = models::read_stop_tokens(model);
    return (!token.empty() && text.ends_with(token)) ||
           std::find(stops.begin(), stops.end(), ids.back()) != stops.end();
}

}  // namespace

std::optional<std::string> endless_answers(const std::filesystem::path& model, const data::chat_template& how,
                                           const models::tokenizer& words) {
    const auto text = up_to_end(how);
    if (!text || ends_with_token(model, *text, words)) return std::nullopt;
    const auto answer = text->rfind(said);
    const auto end = answer == std::string::npos ? std::string() : text->substr(answer + said.size());
    if (end.empty())
        return fmt::format(
            "data.chat: what is learned of an answer in {}'s chat template ends without an end-of-turn token, so the "
            "model does not learn to stop; let the template write one behind each answer, such as {{{{ eos_token }}}}, "
            "inside of {{% generation %}} where it has that",
            model.string());
    return fmt::format(
        "data.chat: {}'s chat template ends answers with \"{}\", which is no token of its tokenizer and is spelled, so "
        "the model learns no end-of-turn token; add it to the tokenizer's special tokens, or end answers with "
        "{{{{ eos_token }}}}",
        model.string(), end);
}

}  // namespace rldp::actors

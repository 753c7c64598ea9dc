#pragma once
// A model's chat template: how a conversation becomes the text that the model was trained on. Templates are Jinja, run
// here by a small interpreter that refuses what it does not know; they come with models, from anyone, and so are
// bounded in size, steps and what they make.
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace rldp::data {

struct chat_message {
    std::string role, content;  ///< UTF-8
};

/// A conversation as text, and where in it the assistant's answers stand, each with what ends its turn.
struct chat_text {
    std::string text;
    std::vector<text_range> answers;  ///< in order, none touching the next
};

/// Immutable; several threads may use one at once.
class chat_template {
  public:
    /// The template in DIR/chat_template.jinja, else "chat_template" in DIR/tokenizer_config.json: a string, or a list
    /// of {"name", "template"}, of which "default". Nothing where a model has none. Special tokens are those of
    /// DIR/tokenizer_config.json. `date` is what strftime_now() tells; without one there is no such function,
    /// and templates that ask for it where it is there do without, so that records are the same on every day.
    /// Errors: bad_input naming the file and the template's line.
    static std::optional<chat_template> read(const std::filesystem::path& directory,
                                             std::optional<std::chrono::year_month_day> date = std::nullopt);

    /// A template that lies elsewhere, `where` for messages; `tokens` are "bos_token" and its kin. Errors: as read().
    static chat_template parse(const std::string& source, const std::string& where,
                               std::map<std::string, std::string> tokens,
                               std::optional<std::chrono::year_month_day> date = std::nullopt);

    /// The token that begins a text; empty where the model names none.
    const std::string& bos() const;

    /// What tokenizer.apply_chat_template(messages, tokenize=False) of Hugging Face gives, without tools or documents.
    /// Errors: bad_input, in one line that names the template and where in it, of what is not supported, runs too long
    /// or makes too much, and where the template itself raises an exception.
    std::string render(std::span<const chat_message> messages, bool add_generation_prompt) const;

    /// The text is render(messages, false). Answers are what the template's {% generation %} blocks say. In a template
    /// without any an answer is what render() of the messages up to it, without a prompt, adds to render() of those
    /// before it, with a prompt, whose white space at the end may differ. Where the one is not how the other begins, as
    /// in templates that rewrite earlier turns, it is what the text has of the answer, after the prompt and with the
    /// tags that end its turn, as far as the shorter renderings have them, too; nothing where the text has nothing of
    /// it. No answer holds a character of another message, unless the template changes letters' case or the like, so
    /// that it can't be told whose they are. Errors: as render(), and bad_input where none of this tells where an
    /// answer stands, or a block holds what a user or the system says.
    chat_text conversation(std::span<const chat_message> messages) const;

  private:
    struct content;
    std::string write(std::span<const chat_message> messages, bool add_generation_prompt, bool marks_answers) const;
    explicit chat_template(std::shared_ptr<const content> held) : content_(std::move(held)) {}

    std::shared_ptr<const content> content_;
};

}  // namespace rldp::data

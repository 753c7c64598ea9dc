#include "data/chat/chat_template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "data/chat/answers.hpp"
#include "data/chat/interpreter.hpp"
#include "data/chat/program.hpp"
#include "data/chat/python_text.hpp"

namespace rldp::data {

struct chat_template::content {
    std::string where;  // for messages
    jinja::program program;
    std::map<std::string, std::string> tokens;  // "bos_token" and its kin
    std::optional<std::chrono::year_month_day> date;
    std::vector<std::string> literals;
    bool marks_answers = false;  // by {% generation %}
};

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t longest_template = std::size_t{1} << 20;              // bytes; real ones have up to 20,000
constexpr std::uintmax_t longest_configuration = std::uintmax_t{64} << 20;  // bytes; it lists the added tokens

// What a rendering may cost: for the template, and besides for each message and each of its bytes. Real templates take
// some 100 steps for a message and make ten times its text.
constexpr std::size_t steps_besides = 1'000'000, steps_per_message = 2'000, steps_per_byte = 1;
constexpr std::size_t bytes_besides = std::size_t{1} << 19, bytes_per_message = 4'096, bytes_per_byte = 128;

void refuse_longer(const fs::path& file, std::uintmax_t most) {
    if (input_file(file).size() > most)
        refuse(fmt::format("{}: longer than {} bytes, too long for what it is", file.string(), most));
}

std::map<std::string, std::string> special_tokens(const json_reader& configuration) {
    std::map<std::string, std::string> out;
    for (const std::string key :
         {"bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token", "mask_token"}) {
        if (!configuration.has(key)) continue;
        const auto& given = configuration.at(key);
        const auto& text = given.is_object() && given.contains("content") ? given.at("content") : given;
        if (!text.is_string())
            refuse(fmt::format("{}: key '{}' must be a string or an object with \"content\"", configuration.origin(),
                               key));
        out.emplace(key, text.get<std::string>());
    }
    return out;
}

/// The template in a tokenizer's configuration, or nothing.
std::optional<std::string> configured_template(const json_reader& configuration) {
    if (!configuration.has("chat_template")) return std::nullopt;
    const auto& given = configuration.at("chat_template");
    if (given.is_string()) return given.get<std::string>();
    const auto is_text = [](const json& entry, const char* key) {
        return entry.contains(key) && entry.at(key).is_string();
    };
    if (given.is_array())
        for (const auto& entry : given)
            if (entry.is_object() && is_text(entry, "name") && is_text(entry, "template") &&
                entry.at("name") == "default")
                return entry.at("template").get<std::string>();
    refuse(configuration.origin() +
           ": key 'chat_template' must be a string, or a list of {\"name\", \"template\"} with one named \"default\"");
}

jinja::value message_list(jinja::allowance& left, std::span<const chat_message> messages) {
    std::vector<jinja::value> out;
    for (const auto& [role, content] : messages)
        out.push_back(
            jinja::make_mapping(left, {{jinja::make_text(left, "role"), jinja::make_text(left, role)},
                                       {jinja::make_text(left, "content"), jinja::make_text(left, content)}}));
    return jinja::make_series(left, jinja::series::kind::list, std::move(out));
}

/// Texts that the template may look for in a message. Words without a sign are roles and keys.
std::vector<std::string> list_literals(const jinja::program& program) {
    std::vector<std::string> out;
    const auto is_sign = [](unsigned char c) { return c > ' ' && c != '_' && std::isalnum(c) == 0; };
    for (const auto& node : program.nodes) {
        const auto* text = node.what == jinja::op::constant ? jinja::find_text(node.constant) : nullptr;
        if (text != nullptr && std::any_of(text->begin(), text->end(), is_sign)) out.push_back(*text);
    }
    return out;
}

}  // namespace

std::optional<chat_template> chat_template::read(const fs::path& directory,
                                                 std::optional<std::chrono::year_month_day> date) {
    const auto own_file = directory / "chat_template.jinja", configuration_file = directory / "tokenizer_config.json";
    std::map<std::string, std::string> tokens;
    std::string where;
    std::optional<std::string> source;
    std::error_code ignored;
    const bool has_own_file = fs::exists(own_file, ignored);
    if (fs::exists(configuration_file, ignored)) {
        refuse_longer(configuration_file, longest_configuration);
        const auto parsed = read_object(configuration_file);
        const json_reader configuration(parsed, configuration_file.string());
        tokens = special_tokens(configuration);
        where = configuration_file.string() + ": chat_template";
        if (!has_own_file) source = configured_template(configuration);
    }
    if (has_own_file) {
        refuse_longer(own_file, longest_template);
        where = own_file.string();
        source = read_text(own_file);
    }
    if (!source) return std::nullopt;
    return parse(*source, where, std::move(tokens), date);
}

chat_template chat_template::parse(const std::string& source, const std::string& where,
                                   std::map<std::string, std::string> tokens,
                                   std::optional<std::chrono::year_month_day> date) {
    if (!is_utf8(source)) refuse(where + ": not UTF-8");
    if (source.size() > longest_template)
        refuse(fmt::format("{}: longer than {} bytes, too long for what it is", where, longest_template));
    auto held = std::make_shared<content>();
    held->where = where;
    held->tokens = std::move(tokens);
    held->date = date;
    held->program = jinja::parse(source, where);
    held->literals = list_literals(held->program);
    held->marks_answers = std::any_of(held->program.nodes.begin(), held->program.nodes.end(),
                                      [](const auto& node) { return node.what == jinja::op::generation; });
    return chat_template(std::move(held));
}

const std::string& chat_template::bos() const {
    static const std::string none_named;
    const auto found = content_->tokens.find("bos_token");
    return found != content_->tokens.end() ? found->second : none_named;
}

std::string chat_template::render(std::span<const chat_message> messages, bool add_generation_prompt) const {
    return write(messages, add_generation_prompt, false);
}

std::string chat_template::write(std::span<const chat_message> messages, bool add_generation_prompt,
                                 bool marks_answers) const {
    std::size_t bytes = 0;
    for (const auto& [role, text] : messages) bytes += role.size() + text.size();
    jinja::allowance left(steps_besides + steps_per_message * messages.size() + steps_per_byte * bytes,
                          bytes_besides + bytes_per_message * messages.size() + bytes_per_byte * bytes);
    jinja::interpreter run(content_->program, content_->date, left, marks_answers);
    try {
        std::map<std::string, jinja::value, std::less<>> variables = {{"messages", message_list(left, messages)},
                                                                      {"add_generation_prompt", add_generation_prompt},
                                                                      {"tools", jinja::none{}},
                                                                      {"documents", jinja::none{}}};
        for (const auto& [name, token] : content_->tokens) variables.emplace(name, jinja::make_text(left, token));
        return run.run(std::move(variables));
    } catch (const jinja::fault& wrong) {
        refuse(fmt::format("{}: line {}: {}", content_->where, wrong.line() > 0 ? wrong.line() : run.line(),
                           wrong.what()));
    }
}

chat_text chat_template::conversation(std::span<const chat_message> messages) const {
    chat_text out{render(messages, false), {}};
    const written_talk talk{messages,
                            [&](std::span<const chat_message> some, bool prompt) { return render(some, prompt); },
                            content_->literals};
    const auto marked = content_->marks_answers ? write(messages, false, true) : std::string();
    try {
        out.answers =
            content_->marks_answers ? generated_answers(talk, out.text, marked) : added_answers(talk, out.text);
    } catch (const error& unknown) {
        refuse(fmt::format("{}: {}", content_->where, unknown.what()));
    }
    return out;
}

}  // namespace rldp::data

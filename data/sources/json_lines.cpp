#include "data/sources/json_lines.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "config/base/files.hpp"
#include "data/sources/spelled_json.hpp"

namespace rldp::data {

namespace {

/// The unit's key in a JSON object, as text.
std::string read_group(const spelled_json& object, const std::string& group, const std::string& file,
                     std::size_t number) {
    const auto found = object.find(group);
    if (found != object.end() && found->is_string() && !found->get_ref<const std::string&>().empty()) return *found;
    if (found != object.end() && is_integer(*found)) return spell_scalar(*found);
    refuse_at(file, number,
              fmt::format("the unit's key \"{}\" is missing or neither text nor an integer; give every record one, or "
                          "set privacy.unit to \"record\"",
                          group));
}

void tell_raw(const spelled_json& value, std::string* raw) {
    if (raw) *raw = canonical(value);
}

/// Text, or a list of parts that are text.
std::optional<std::string> read_content(const spelled_json& message) {
    const auto found = message.find("content");
    if (found == message.end()) return std::nullopt;
    if (found->is_string()) return found->get<std::string>();
    if (!found->is_array()) return std::nullopt;
    std::string out;
    for (const auto& part : *found) {
        const auto text = part.is_object() ? part.find("text") : part.end();
        if (text == part.end() || !text->is_string()) return std::nullopt;
        out += text->get_ref<const std::string&>();
    }
    return out;
}

std::vector<chat_message> read_messages(const spelled_json& object, const text_line& read, const std::string& file) {
    const auto found = object.find("messages");
    if (found == object.end() || !found->is_array() || found->empty())
        refuse_at(file, read.number, "no list of messages under \"messages\"; data.chat asks for conversations");
    std::vector<chat_message> out;
    for (const auto& message : *found) {
        const auto role = message.is_object() ? message.find("role") : message.end();
        auto content = message.is_object() ? read_content(message) : std::nullopt;
        if (role == message.end() || !role->is_string() || !content)
            refuse_at(file, read.number,
                      fmt::format("message {} has no text under \"role\" or \"content\"; only texts are read",
                                  out.size() + 1));
        out.push_back({role->get<std::string>(), std::move(*content)});
    }
    return out;
}

}  // namespace

record parse_json_line(const text_line& read, const std::optional<std::string>& group, const std::string& file,
                       std::string* raw) {
    const auto number = read.number;
    const auto value = parse_spelled(read, file);
    const bool object = value.is_object();
    if (!object && !value.is_string()) refuse_at(file, number, what_instead(value, "neither an object nor a string"));
    if (!object && group)
        refuse_at(file, number, fmt::format("a bare string has no unit's key \"{}\"; use an object", *group));
    if (object && !(value.contains("text") && value["text"].is_string()))
        refuse_at(file, number,
                  value.contains("messages")
                      ? "the object has no string under \"text\", but \"messages\": set data.chat "
                        "to true for conversations"
                      : "the object has no string under \"text\"");
    record out;
    out.text = object ? value["text"].get<std::string>() : value.get<std::string>();
    if (is_blank(out.text)) refuse_at(file, number, "the record's text is empty; remove the line");
    if (group) out.group = read_group(value, *group, file, number);
    tell_raw(value, raw);
    return out;
}

record parse_chat_line(const text_line& read, const std::optional<std::string>& group, const chat_template& how,
                       const std::string& file, std::string* raw) {
    const auto value = parse_spelled(read, file);
    if (!value.is_object())
        refuse_at(file, read.number, what_instead(value, "not an object; write {\"messages\": [...]} per line"));
    const auto messages = read_messages(value, read, file);
    record out;
    try {
        auto told = how.conversation(messages);
        out.text = std::move(told.text);
        out.answers = std::move(told.answers);
    } catch (const error& refused) {
        refuse_at(file, read.number, refused.what());
    }
    if (is_blank(out.text)) refuse_at(file, read.number, "the chat template makes nothing of this conversation");
    if (group) out.group = read_group(value, *group, file, read.number);
    tell_raw(value, raw);
    return out;
}

std::vector<record> read_jsonl(const std::string& path, const std::optional<std::string>& group) {
    const auto text = checked_text(read_file(path), path);
    std::vector<record> out;
    for (const auto& line : split_lines(text)) out.push_back(parse_json_line(line, group, path));
    return out;
}

}  // namespace rldp::data

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "data/sources/json_lines.hpp"
#include "data/sources/text.hpp"

namespace rldp::data {

namespace {

/// Why nlohmann's parser refuses, without the words of the text that it quotes.
std::string strip_reason(std::string said) {
    for (const std::string_view before : {"] ", " - "})
        if (const auto at = said.find(before); at != std::string::npos) said.erase(0, at + before.size());
    if (const auto number = said.find(" parsing '"); number != std::string::npos) said.erase(number);
    if (const auto quoted = said.find("; last read: '"); quoted != std::string::npos) {
        const auto behind = said.rfind("'; expected ");
        said.erase(quoted, behind == std::string::npos || behind < quoted ? std::string::npos : behind + 1 - quoted);
    }
    return said;
}

/// Builds the value. (The library's own builder takes numbers for doubles.)
class builder final : public nlohmann::json_sax<spelled_json> {
  public:
    builder() = default;
    builder(const builder&) = delete;  // it points into what it builds
    builder& operator=(const builder&) = delete;

    bool null() override { return put(nullptr); }
    bool boolean(bool value) override { return put(value); }
    bool number_integer(number_integer_t value) override { return put(value); }
    bool number_unsigned(number_unsigned_t value) override { return put(value); }
    bool number_float(number_float_t, const string_t& spelled) override {
        return put(spelled_json::binary({spelled.begin(), spelled.end()}));
    }
    bool string(string_t& value) override { return put(std::move(value)); }
    bool binary(binary_t&) override { return false; }  // JSON's text has none
    bool start_object(std::size_t) override { return open(spelled_json::object()); }
    bool key(string_t& name) override {
        // Not by the object's own search, which walks through all that it holds.
        auto& members = open_.back()->get_ref<spelled_json::object_t&>();
        const auto [at, is_new] = keys_.back().emplace(name, members.size());
        if (is_new) members.emplace_back(name, nullptr);
        place_ = &(members.begin() + static_cast<std::ptrdiff_t>(at->second))->second;
        return true;
    }
    bool end_object() override { return close(); }
    bool start_array(std::size_t) override { return open(spelled_json::array()); }
    bool end_array() override { return close(); }
    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& why) override {
        column = position;
        reason = strip_reason(why.what());
        return false;
    }

    spelled_json out;
    std::size_t column = 0;  ///< in bytes, from 1 on, of where the parser stopped
    std::string reason;

  private:
    spelled_json* place(spelled_json value) {
        if (open_.empty()) {
            out = std::move(value);
            return &out;
        }
        if (open_.back()->is_array()) {
            open_.back()->push_back(std::move(value));
            return &open_.back()->back();
        }
        *place_ = std::move(value);
        return place_;
    }
    bool put(spelled_json value) {
        place(std::move(value));
        return true;
    }
    bool open(spelled_json value) {
        if (open_.size() == most_levels) {
            reason = fmt::format("nested deeper than {} levels", most_levels);
            return false;
        }
        open_.push_back(place(std::move(value)));
        keys_.emplace_back();
        return true;
    }
    bool close() {
        open_.pop_back();
        keys_.pop_back();
        return true;
    }

    static constexpr std::size_t most_levels = 200;  // what reads the value afterwards recurses
    std::vector<spelled_json*> open_;
    std::vector<std::map<std::string, std::size_t>> keys_;  ///< of each open object, with their places
    spelled_json* place_ = nullptr;                         ///< of the key that was read last
};

void write(const spelled_json& value, std::string& out) {
    if (value.is_object()) {
        std::vector<std::pair<std::string_view, const spelled_json*>> sorted;
        for (const auto& [key, inner] : value.items()) sorted.emplace_back(key, &inner);
        std::sort(sorted.begin(), sorted.end());
        char before = '{';
        for (const auto& [key, inner] : sorted) {
            out += std::exchange(before, ',');
            write(std::string(key), out);
            out += ':';
            write(*inner, out);
        }
        out += sorted.empty() ? "{}" : "}";
    } else if (value.is_array()) {
        char before = '[';
        for (const auto& inner : value) {
            out += std::exchange(before, ',');
            write(inner, out);
        }
        out += value.empty() ? "[]" : "]";
    } else if (value.is_string()) {
        out += value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    } else {
        out += value.is_null() ? "null" : spell_scalar(value);
    }
}

}  // namespace

spelled_json parse_spelled(const text_line& line, const std::string& file) {
    if (const auto zero = line.text.find('\0'); zero != std::string_view::npos)  // the parser would end there
        refuse_at(file, line.number, fmt::format("column {}: a zero byte", zero + 1));
    builder made;
    if (!spelled_json::sax_parse(line.text, &made))
        refuse_at(file, line.number,
                  fmt::format("column {}: no JSON: {}", std::max<std::size_t>(made.column, 1), made.reason));
    return std::move(made.out);
}

std::string spell_scalar(const spelled_json& scalar) {
    if (scalar.is_null()) return {};
    if (scalar.is_string()) return scalar.get<std::string>();
    if (!scalar.is_binary()) return scalar.dump();
    const auto& bytes = scalar.get_binary();
    return {bytes.begin(), bytes.end()};
}

std::string what_instead(const spelled_json& value, const std::string& otherwise) {
    return value.is_array() ? "a list; write one value per line (jq -c '.[]' FILE)" : otherwise;
}

bool is_integer(const spelled_json& value) {
    if (!value.is_binary()) return value.is_number_integer();
    return spell_scalar(value).find_first_not_of("-0123456789") == std::string::npos;
}

std::string canonical(const spelled_json& value) {
    std::string out;
    write(value, out);
    return out;
}

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
        auto written = how.conversation(messages);
        out.text = std::move(written.text);
        out.answers = std::move(written.answers);
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

namespace {

spelled_json parse_row_object(const text_line& line, const std::string& file, bool beside) {
    auto out = parse_spelled(line, file);
    if (beside && out.is_string()) return spelled_json::object();
    if (!out.is_object())
        refuse_at(file, line.number,
                  what_instead(out, "not a JSON object; with data.template every line is one, a key per column"));
    return out;
}

std::string to_cell(const spelled_json& value, const std::string& key, const std::string& file, std::size_t line) {
    if (value.is_primitive()) return spell_scalar(value);
    const bool flat = value.is_array() && std::all_of(value.begin(), value.end(),
                                                      [](const spelled_json& each) { return each.is_primitive(); });
    if (!flat)
        refuse_at(
            file, line,
            fmt::format("\"{}\" holds an object; a column is text, a number, or a list of them: flatten it", key));
    std::string out;
    for (const auto& each : value) out += (out.empty() ? "" : ", ") + spell_scalar(each);
    return out;
}

}  // namespace

struct json_table_stream::state {
    piece_reader pieces;
    bool beside;
    std::vector<std::string> columns;
    std::unordered_map<std::string, std::size_t> places;  ///< of each, in their order
};

json_table_stream::json_table_stream(const std::string& path, bool beside)
    : state_(new state{piece_reader(path, false), beside, {}, {}}) {}
json_table_stream::~json_table_stream() = default;

std::optional<table> json_table_stream::next() {
    const auto& file = state_->pieces.path();
    auto& columns = state_->columns;
    const auto part = state_->pieces.next();
    if (!part) return std::nullopt;
    std::vector<std::pair<spelled_json, std::size_t>> rows;
    for (const auto& line : split_lines(part->text, part->line))
        rows.emplace_back(parse_row_object(line, file, state_->beside), line.number);
    if (columns.empty())
        for (const auto& [row, line] : rows)
            for (const auto& [key, value] : row.items())
                if ((!state_->beside || value.is_primitive()) && state_->places.emplace(key, columns.size()).second)
                    columns.push_back(key);
    table out(file, columns);
    std::vector<std::string> cells(columns.size());
    for (const auto& [row, line] : rows) {
        for (auto& cell : cells) cell.clear();
        for (const auto& [key, value] : row.items()) {
            const auto place = state_->places.find(key);
            if (place == state_->places.end()) {
                if (state_->beside) continue;
                refuse_at(file, line,
                          "has a key that no object at the file's beginning has; give the first one all keys, null "
                          "where it has nothing");
            }
            if (!state_->beside || value.is_primitive()) cells[place->second] = to_cell(value, key, file, line);
        }
        out.add_row(cells, line);
    }
    return out;
}

void json_table_stream::rewind() {
    state_->pieces.rewind();
    state_->columns.clear();
    state_->places.clear();
}

}  // namespace rldp::data

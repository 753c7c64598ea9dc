#include "data/sources/spelled_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

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

}  // namespace rldp::data

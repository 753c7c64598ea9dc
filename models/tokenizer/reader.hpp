#pragma once
// A JSON value that knows where it lies, so that every refusal names file and key. Internal to the tokenizers.
#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"

namespace rldp::models {

/// The file as JSON; the caller keeps it alive while json_at points into it.
inline nlohmann::json read_json(const std::filesystem::path& file) {
    try {
        const auto text = read_file(file);
        if (const auto zero = text.find('\0'); zero != std::string::npos)  // the parser would end there
            refuse(file.string() + ": not JSON at byte " + std::to_string(zero + 1));
        return nlohmann::json::parse(text);
    } catch (const nlohmann::json::parse_error& problem) {
        refuse(file.string() + ": not JSON at byte " + std::to_string(problem.byte));
    } catch (const nlohmann::json::out_of_range&) {
        refuse(file.string() + ": not JSON: a number that no double holds");
    }
}

class json_at {
  public:
    json_at(const nlohmann::json& value, std::string file, std::string key = {})
        : value_(&value), file_(std::move(file)), key_(std::move(key)) {}

    const nlohmann::json& value() const { return *value_; }
    /// "FILE: KEY", for messages.
    std::string where() const { return key_.empty() ? file_ : file_ + ": " + key_; }
    [[noreturn]] void refuse_with(const std::string& what) const { refuse(where() + ": " + what); }

    /// Nothing where the key is absent or null.
    std::optional<json_at> find(const std::string& name) const {
        if (!value_->is_object()) refuse_with("must be an object");
        if (key_.size() > longest_key) refuse_with("is nested too deeply");
        const auto found = value_->find(name);
        if (found == value_->end() || found->is_null()) return std::nullopt;
        return json_at(*found, file_, key_.empty() ? name : key_ + "." + name);
    }
    json_at at(const std::string& name) const {
        if (auto found = find(name)) return *found;
        json_at(*value_, file_, key_.empty() ? name : key_ + "." + name).refuse_with("is missing");
    }
    std::vector<json_at> items() const {
        if (!value_->is_array()) refuse_with("must be a list");
        std::vector<json_at> out;
        for (std::size_t i = 0; i < value_->size(); ++i)
            out.emplace_back((*value_)[i], file_, key_ + "[" + std::to_string(i) + "]");
        return out;
    }
    std::string text() const {
        if (!value_->is_string()) refuse_with("must be a string");
        return value_->get<std::string>();
    }
    std::int32_t id() const {
        if (!value_->is_number_integer()) refuse_with("must be a whole number");
        const auto number = value_->get<std::int64_t>();
        if (number < 0 || number >= std::numeric_limits<std::int32_t>::max()) refuse_with("must be an id, from 0 on");
        return static_cast<std::int32_t>(number);
    }
    /// The truth at `name`, or `absent`.
    bool flag(const std::string& name, bool absent) const {
        const auto found = find(name);
        if (!found) return absent;
        if (!found->value().is_boolean()) found->refuse_with("must be true or false");
        return found->value().get<bool>();
    }

  private:
    static constexpr std::size_t longest_key = 1000;  // bytes; bounds the readers' recursion
    const nlohmann::json* value_;
    std::string file_, key_;
};

}  // namespace rldp::models

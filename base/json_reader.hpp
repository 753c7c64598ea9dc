#pragma once
// JSON from files that may be hostile: strict, shallow, no duplicate keys; every refusal names file and key.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace rldp {

/// Parses one JSON object. Errors: bad_input naming `origin` (syntax with its byte, duplicate key, a number that
/// no double holds, depth above 32).
nlohmann::json parse_object(std::string_view text, const std::string& origin);
nlohmann::json read_object(const std::filesystem::path& path);

/// One JSON object with the file it came from, for checked reads. A null counts as absent; `missing` is the default.
class json_reader {
  public:
    json_reader(const nlohmann::json& object, std::string origin) : object_(object), origin_(std::move(origin)) {}

    bool has(const std::string& key) const;
    /// Integer in [low, high]; without a default the key is required.
    std::int64_t integer(const std::string& key, std::int64_t low, std::int64_t high) const;
    std::int64_t integer(const std::string& key, std::int64_t low, std::int64_t high, std::int64_t missing) const;
    /// Finite number in [low, high].
    double number(const std::string& key, double low, double high) const;
    double number(const std::string& key, double low, double high, double missing) const;
    bool boolean(const std::string& key, bool missing) const;
    std::string text(const std::string& key) const;
    std::string text(const std::string& key, const std::string& missing) const;
    const nlohmann::json& at(const std::string& key) const;
    const std::string& origin() const { return origin_; }

  private:
    const nlohmann::json& object_;
    std::string origin_;
};

}  // namespace rldp

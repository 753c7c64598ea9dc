#pragma once
// What normalizers, pre-tokenizers and decoders have in common. Internal to the tokenizers.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/regex/regex.hpp"
#include "models/tokenizer/reader.hpp"

namespace rldp::models {

/// What the steps of one section may do together. Chains of replacements would otherwise make gigabytes of a few words,
/// and chains of patterns of a small file.
class step_budget {
  public:
    /// A step that makes a text at most `growth` times as long.
    void take(const json_at& section, std::size_t growth = 1);

  private:
    std::size_t steps_ = 0, growth_ = 1;
};

/// A `pattern` key: {"String": …} or {"Regex": …}.
class pattern {
  public:
    explicit pattern(const json_at& section);
    /// How many times as long replacing makes a text, at most. A match that is replaced has a byte or more.
    std::size_t growth(const std::string& with) const;
    void replace(std::string& in, const std::string& with) const;
    std::vector<text_range> matches(std::string_view in) const;

  private:
    std::string text_;
    std::optional<regex> expression_;
};

/// A step Replace: what `pattern` finds becomes `content`.
struct replacing {
    pattern from;
    std::string to;

    replacing(const json_at& section, step_budget& budget);
    void operator()(std::string& text) const { from.replace(text, to); }
};

enum class prepend_when { always, first, never };

/// Metaspace's scheme by its present name, or by the older key add_prefix_space.
prepend_when read_prepend_scheme(const json_at& section);
/// The character that Metaspace puts in a space's place.
std::string read_mark(const json_at& section);

}  // namespace rldp::models

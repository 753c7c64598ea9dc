#pragma once
// The stages of a tokenizer.json around its model: normalizer, pre-tokenizer, decoder. Internal to the tokenizers.
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/regex/regex.hpp"
#include "models/tokenizer/reader.hpp"

namespace rldp::models {

// Parts of steps. What normalizers, pre-tokenizers and decoders have in common.

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

// Stages. As functions, and how they are read.

/// Changes a text in place; `at_start` says that it begins the whole text, and is false from where a step takes the
/// beginning away.
using normalizer = std::function<void(std::string& text, bool& at_start)>;
/// Cuts pieces into smaller ones; `at_start` says so of the first piece.
using splitter = std::function<void(std::vector<std::string>& pieces, bool& at_start)>;
/// Turns the tokens of a sequence into its text, which the last stage leaves as one or more parts to be joined.
using decoder = std::function<void(std::vector<std::string>& tokens)>;

struct pre_tokenizer {
    std::vector<splitter> steps;
    bool byte_level = false;  ///< words go to the model as bytes
    bool gpt2_alone = false;  ///< the only step is GPT-2's split into words
};

/// Each takes the section of that name and appends to `out`. Errors: bad_input naming a kind that is not supported,
/// too many steps, or steps that together could make a text 64 times as long.
void read_normalizer(const json_at& section, std::vector<normalizer>& out);
void read_pre_tokenizer(const json_at& section, pre_tokenizer& out);
void read_decoder(const json_at& section, std::vector<decoder>& out);

decoder byte_level_decoder();

}  // namespace rldp::models

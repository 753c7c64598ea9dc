#pragma once
// What the files beside a vocabulary say of it: tokenizer_config.json, special_tokens_map.json, added_tokens.json and
// config.json. Internal to the tokenizers.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/tokenizer/tokenizer.hpp"

namespace rldp::models {

/// A token that is found in the text itself.
struct stated_token {
    std::string content;
    std::optional<std::int32_t> id = {};  ///< else that of the vocabulary, or the next one
    bool normalized = false;              ///< found in the normalized text
    bool special = true;                  ///< left out where text is decoded
    stripped_sides strips = {};
    std::string where = {};  ///< file and key, for refusals
};

/// As transformers 5 reads them.
struct stated_settings {
    std::string class_name;                 ///< tokenizer_class; empty where nothing names one
    std::string kind;                       ///< the same without "Tokenizer" and "Fast"
    std::string kind_where;                 ///< file and key that name it
    std::string model_type;                 ///< of config.json
    std::optional<std::int64_t> rows = {};  ///< of the model's embeddings
    std::vector<stated_token> tokens;       ///< those with an id, by id, then others in the order of their names
    std::optional<std::string> bos, eos;
    bool bos_is_open = true, eos_is_open = true;  ///< nothing is said of it, not even null
    std::optional<bool> add_bos, add_eos, add_prefix_space, legacy;
    bool split_special = false;  ///< special tokens in a text are text
    bool has_config = false;     ///< there is a tokenizer_config.json
};

/// Errors: bad_input naming file and key.
stated_settings read_settings(const std::filesystem::path& directory);

}  // namespace rldp::models

#pragma once
// Small tokenizers made on the spot.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "models/tokenizer/tokenizer.hpp"
#include "tests/support/scratch_directory.hpp"

namespace rldp::test {

using json = nlohmann::ordered_json;
using ids = std::vector<std::int32_t>;

inline std::unique_ptr<const models::tokenizer> load(const json& description) {
    const scratch_directory scratch;
    return models::tokenizer::load_json(scratch.write("tokenizer.json", description.dump()));
}

/// Tokens numbered as listed, with the given merges.
inline json bpe_model(const std::vector<std::string>& tokens,
                      const std::vector<std::pair<std::string, std::string>>& merges) {
    json vocab = json::object();
    for (std::size_t i = 0; i < tokens.size(); ++i) vocab[tokens[i]] = i;
    return {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}};
}

inline const json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}};

}  // namespace rldp::test

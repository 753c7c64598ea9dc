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

#include "config/files.hpp"
#include "models/tokenizer.hpp"

namespace rldp::test {

using json = nlohmann::ordered_json;
using ids = std::vector<std::int32_t>;

/// A directory that goes when the test ends.
class scratch_directory {
  public:
    scratch_directory()
        : path_(std::filesystem::temp_directory_path() / ("rldp-tokenizer-" + std::to_string(::getpid()))) {
        std::filesystem::remove_all(path_);
        std::filesystem::create_directories(path_);
    }
    ~scratch_directory() { std::filesystem::remove_all(path_); }
    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path write(const std::string& name, const std::string& bytes) const {
        write_file(path_ / name, bytes);
        return path_ / name;
    }

  private:
    std::filesystem::path path_;
};

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

#include "models/checkpoint/companions.hpp"

#include <nlohmann/json.hpp>

#include "config/base/files.hpp"

namespace rldp::models {

void copy_companions(const std::filesystem::path& from, const std::filesystem::path& to, bool own_head) {
    for (const char* name :
         {"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
          "added_tokens.json", "vocab.json", "merges.txt", "tokenizer.model", "chat_template.jinja"})
        if (std::filesystem::exists(from / name)) write_file(to / name, read_file(from / name));
    if (!own_head) return;
    auto config = nlohmann::ordered_json::parse(read_file(to / "config.json"));
    config["tie_word_embeddings"] = false;
    write_file(to / "config.json", config.dump(2) + "\n");
}

}  // namespace rldp::models

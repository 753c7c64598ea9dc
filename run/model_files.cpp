#include "run/model_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/directories.hpp"
#include "base/files.hpp"
#include "data/units/token_cache.hpp"
#include "models/gguf/gguf_model.hpp"
#include "privacy/keys/digest.hpp"

namespace rldp::actors {

namespace {

std::vector<std::filesystem::path> list_files_with(const std::filesystem::path& directory,
                                                   std::initializer_list<std::string_view> extensions) {
    std::vector<std::filesystem::path> out;
    for (const auto& entry : list_entries(directory))
        if (entry.is_regular_file() &&
            std::find(extensions.begin(), extensions.end(), entry.path().extension()) != extensions.end())
            out.push_back(entry.path());
    std::sort(out.begin(), out.end());
    return out;
}

/// Metadata, among them the tokenizer, and what the tensors are.
std::string read_header(const std::filesystem::path& path) {
    const models::gguf_file file(path);
    auto end = std::filesystem::file_size(path);
    for (const auto& [name, tensor] : file.tensors()) end = std::min<std::uintmax_t>(end, tensor.begin);
    std::string out(end, '\0');
    std::ifstream(path, std::ios::binary).read(out.data(), static_cast<std::streamsize>(end));
    return out;
}

}  // namespace

std::optional<data::chat_template> read_chat_template(const std::filesystem::path& model) {
    if (!models::is_gguf(model)) return data::chat_template::read(model);
    const models::gguf_file file(model);
    const auto source = models::find_chat_template(file);
    if (!source) return std::nullopt;
    std::map<std::string, std::string> tokens;
    const auto words = file.texts("tokenizer.ggml.tokens");
    for (const auto& [name, key] :
         {std::pair{"bos_token", "bos"}, {"eos_token", "eos"}, {"pad_token", "padding"}, {"unk_token", "unknown"}}) {
        const auto place = fmt::format("tokenizer.ggml.{}_token_id", key);
        if (file.has(place))
            tokens[name] = words.at(static_cast<std::size_t>(file.integer(place, 0, std::ssize(words) - 1)));
    }
    return data::chat_template::parse(*source, model.string() + ": tokenizer.chat_template", std::move(tokens));
}

std::string digest_beside_weights(const std::filesystem::path& model) {
    if (models::is_gguf(model)) return privacy::sha256(read_header(model));
    std::string all;
    for (const auto& path : list_files_with(model, {".json", ".model", ".txt", ".jinja"})) {
        const auto text = read_file(path);
        all += fmt::format("{}\n{}\n{}", path.filename().string(), text.size(), text);
    }
    return privacy::sha256(all);
}

std::string weight_file_facts(const std::filesystem::path& model) {
    if (models::is_gguf(model)) return data::file_facts(model);
    std::string out;
    for (const auto& path : list_files_with(model, {".safetensors"})) out += data::file_facts(path) + "\n";
    return out;
}

}  // namespace rldp::actors

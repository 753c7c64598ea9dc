// vocab.json with merges.txt, which say neither how texts are cut nor which tokens stand in them: tokenizer_class does.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "models/tokenizer/piece_table.hpp"
#include "models/tokenizer/pipeline.hpp"

namespace rldp::models {

namespace {

/// Special to both, whether or not a file says so.
constexpr std::string_view end_token = "<|endoftext|>";

/// A class of transformers whose vocabulary is byte-level BPE.
struct byte_level_kind {
    std::string_view name;  ///< without "Tokenizer"
    std::array<std::string_view, 2> model_types;
    bool begins;         ///< the end token is what begins a text, too
    const char* stages;  ///< as a tokenizer.json has them
};

constexpr std::array<byte_level_kind, 2> byte_level_kinds{
    {{"GPT2",
      {"gpt2", ""},
      true,
      R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, "decoder": {"type": "ByteLevel"}})"},
     {"Qwen2",
      {"qwen2", "qwen3"},
      false,
      R"({"normalizer": {"type": "NFC"},
          "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "behavior": "Isolated", "pattern": {"Regex":
              "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
            {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]},
          "decoder": {"type": "ByteLevel"}})"}}};

const byte_level_kind& named_kind(const std::filesystem::path& directory, const stated_settings& beside) {
    for (const auto& kind : byte_level_kinds) {
        const auto& types = kind.model_types;
        if (beside.kind.empty() ? std::find(types.begin(), types.end(), beside.model_type) != types.end()
                                : beside.kind == kind.name)
            return kind;
    }
    refuse_unknown_class(directory, beside, "vocab.json and merges.txt");
}

std::vector<bpe::merge> read_merges(const std::filesystem::path& file, const piece_table& table) {
    std::vector<bpe::merge> out;
    std::istringstream lines(read_file(file));
    std::string line;
    for (std::size_t number = 1; std::getline(lines, line); ++number) {
        if (line.ends_with('\r')) line.pop_back();
        if (line.empty() || line.starts_with("#version")) continue;
        const auto where = [&] { return fmt::format("{}:{}", file.string(), number); };
        const auto space = line.find(' ');
        if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos)
            refuse(where() + ": must be two tokens with one space between them");
        table.add_merge(std::string_view(line).substr(0, space), std::string_view(line).substr(space + 1), where, out);
    }
    return out;
}

void set_prefix_space(nlohmann::json& stages) {
    auto& words = stages["pre_tokenizer"];
    auto& bytes = words.contains("pretokenizers") ? words["pretokenizers"].back() : words;
    bytes["add_prefix_space"] = true;
}

}  // namespace

void refuse_unknown_class(const std::filesystem::path& directory, const stated_settings& beside,
                          const std::string& files) {
    const auto what = beside.kind.empty() ? fmt::format("{}: no tokenizer_config.json says what {} of a {} mean",
                                                        directory.string(), files, beside.model_type)
                                          : fmt::format("{}: what {} makes of {} is not known here", beside.kind_where,
                                                        beside.class_name, files);
    refuse(
        fmt::format("{}; make a tokenizer.json: python3 -c 'from transformers import AutoTokenizer; "
                    "AutoTokenizer.from_pretrained(\"{}\").save_pretrained(\"{}\")'",
                    what, directory.string(), directory.string()));
}

pipeline_parts read_vocab_and_merges(const std::filesystem::path& directory, const stated_settings& beside) {
    const auto& kind = named_kind(directory, beside);
    const auto vocab = directory / "vocab.json";
    const auto json = read_json(vocab);
    piece_table table(json_at(json, vocab.string()), beyond_model(beside.tokens, beside.rows));
    auto stages = nlohmann::json::parse(kind.stages);
    if (beside.add_prefix_space.value_or(false)) set_prefix_space(stages);
    pipeline_parts parts;
    read_stages(json_at(stages, std::string(kind.name) + "Tokenizer"), parts);
    parts.model = std::make_shared<const bpe>(table.vocabulary(true), read_merges(directory / "merges.txt", table),
                                              bpe_options{.byte_level = true});
    add_tokens(beside.tokens, beside, table, parts);
    if (table.ids.contains(end_token)) add_tokens({{.content = std::string(end_token)}}, beside, table, parts);
    parts.pieces = table.pieces;
    auto ends = beside;
    if (ends.bos_is_open && kind.begins) ends.bos = end_token;
    if (ends.eos_is_open) ends.eos = end_token;
    apply_ends(ends, table, parts);
    return parts;
}

}  // namespace rldp::models

#pragma once
// sentencepiece's BPE models, whatever file holds them. Internal to the tokenizers.
#include <cstdint>
#include <string>
#include <vector>

#include "models/tokenizer/pipeline.hpp"

namespace rldp::models {

/// SentencePiece.Type of sentencepiece_model.proto; GGUF's token types are the same.
enum class piece_type : std::uint64_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

struct piece {
    std::string text;
    float score = 0;
    piece_type type = piece_type::normal;
};

/// What is used of ModelProto, with that file's defaults.
struct sentencepiece_model {
    std::vector<piece> pieces;  ///< by id, no two of one text
    bool byte_fallback = false, dummy_prefix = true, collapse_spaces = true;
    std::string bos = "<s>", eos = "</s>";
    std::string unsupported = {};  ///< of what it says of texts: file, key and what
};

/// Errors: bad_input naming `where` for a text or a score that no piece may have.
void check_piece(const piece& one, const std::string& where);

/// `llama`: as transformers 5 makes a LlamaTokenizer, of the pieces alone; else as the model says. `file` is for
/// messages. Errors: bad_input.
pipeline_parts assemble_sentencepiece(const sentencepiece_model& model, bool llama, const std::string& file,
                                      const stated_settings& beside);

}  // namespace rldp::models

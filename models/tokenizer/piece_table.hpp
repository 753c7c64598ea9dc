#pragma once
// A vocabulary while it is read. Internal to the tokenizers.
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizer/beside.hpp"
#include "models/tokenizer/bpe.hpp"
#include "models/tokenizer/pipeline.hpp"
#include "models/tokenizer/reader.hpp"

namespace rldp::models {

/// The vocabulary with its pieces by id and by text, as the file spells them.
class piece_table {
  public:
    piece_table() = default;
    /// Of an object of pieces and ids; `without` are left out.
    piece_table(const json_at& vocab, const std::set<std::string>& without);
    /// Puts a piece at its id, in the place of the one that is there. Ids much larger than the number of pieces would
    /// only waste memory. Errors: bad_input naming `where`.
    void place(std::int32_t id, const std::string& piece, const std::string& where, std::size_t count);
    /// Errors: bad_input naming `where`.
    std::int32_t find(std::string_view piece, const std::function<std::string()>& where) const;
    /// Appends a merge of the next rank.
    void add_merge(std::string_view left, std::string_view right, const std::function<std::string()>& where,
                   std::vector<bpe::merge>& out) const;
    /// The keys under which the model looks pieces up: bytes for a byte-level model.
    text_map<std::int32_t> vocabulary(bool byte_level) const;

    std::vector<std::string> pieces;
    text_map<std::int32_t> ids;
};

/// Those of `tokens` whose id no row of the model's embeddings has.
std::set<std::string> beyond_model(const std::vector<stated_token>& tokens, std::optional<std::int64_t> rows);

/// Lets the tokens be found in texts, after the normalizers are known. A token without an id has that of the
/// vocabulary, or the next one; where one is added already, an entry with an id says anew how it is found; one beyond
/// the model's rows is left to the text, and noted.
void add_tokens(const std::vector<stated_token>& tokens, const stated_settings& beside, piece_table& table,
                pipeline_parts& parts);

/// What stands before and after every text, where tokenizer_config.json says so.
void apply_ends(const stated_settings& beside, const piece_table& table, pipeline_parts& parts);

}  // namespace rldp::models

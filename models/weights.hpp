#pragma once
// A base model, as it lies in a Hugging Face directory or a GGUF file: what it is, and its tensors, read once.
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/kinds.hpp"
#include "base/loading.hpp"
#include "models/causal_lm.hpp"

namespace rldp::models {

/// Of a directory read_model_config, with tied_head as the weights have it, if they are there: as in transformers 5, a
/// head in the files that differs from the embedding is the model's, whatever config.json says. Of a GGUF file
/// read_gguf_config. Errors: theirs.
model_config read_model(const std::filesystem::path& path);
/// read_stop_tokens, or what ends a text or a turn by a GGUF file.
std::vector<std::int64_t> find_stop_tokens(const std::filesystem::path& path);
/// The format of the same name; nothing for none.
std::optional<block_type> to_block_type(quantization asked);
/// Blocks [out, in] of a linear module's numbers, or of a Conv1D's [in, out]; a row is float32 for a moment alone.
/// Errors: bad_input, naming `what`, where rows don't fill blocks, or hold what the format can't.
quantized_tensor quantize_weight(block_type type, const at::Tensor& numbers, bool conv1d, const std::string& what);
/// Bytes of a base's weights in memory: numbers of `number_bytes` each, and blocks.
std::int64_t count_weight_bytes(const model_config& config, std::int64_t number_bytes,
                                std::optional<block_type> quantize);
/// Of one layer's linear modules alone, the largest layer's.
std::int64_t count_layer_bytes(const model_config& config, std::int64_t number_bytes,
                               std::optional<block_type> quantize);
/// Names of a layer's matrices among the base's tensors.
std::vector<std::string> list_matrices(const model_config& config, std::int64_t layer);
/// What is to be said of a model that read_model read: a line for its owner, or nothing.
std::optional<std::string> find_warning(const model_config& config, const std::filesystem::path& directory);

/// bfloat16 where all of its numbers are stored so, else float32.
at::ScalarType own_precision(const std::filesystem::path& path, const model_config& config);

/// Whether all of its numbers are stored in `dtype` and lie in files of safetensors: load_weights() then gives views.
bool is_stored_as(const std::filesystem::path& path, const model_config& config, at::ScalarType dtype);

struct weights_reading {
    std::optional<block_type> quantize = {};  ///< the numbers of linear modules (embedding and head stay as they are)
    bool digest = false;                      ///< of what is stored: names, types, shapes, bytes
    bool known_good = false;                  ///< the same files were found finite before, and are not looked through
    /// Those for which it is false are not read, but for a glimpse. Default: all are wanted.
    std::function<bool(const std::string& name)> wanted = {};
    on_loading tell = {};
};

/// What is stored of a tensor.
struct tensor_facts {
    std::string form;    ///< type and shape
    std::string digest;  ///< of its bytes, in hex
};

struct loaded_weights {
    base_weights weights;
    std::string digest;                                ///< in hex; empty unless asked for, and where not all are wanted
    std::map<std::string, tensor_facts> facts = {};    ///< where a digest is asked for, of each that is wanted
    std::map<std::string, std::string> glimpses = {};  ///< then of every tensor, where not all are wanted: a digest, in
                                                       ///< hex, of its size and a few bytes
};

/// loaded_weights::digest, of the facts of all tensors.
std::string combine_facts(const model_config& config, const std::map<std::string, tensor_facts>& all);

/// Exactly the tensors of base_tensors(config), in `dtype` (without it, as they are stored) on `device`: views of the
/// mapped file where these are the file's. Each is read once, several at a time; what is quantized is given back row by
/// row. Errors: bad_input naming file and tensor (missing, wrong shape, not of floats, NaN or infinity as stored or in
/// `dtype`, columns that don't fill blocks), or file and key of the index.
loaded_weights load_weights(const std::filesystem::path& path, const model_config& config,
                            std::optional<at::ScalarType> dtype, at::Device device, const weights_reading& how = {});

}  // namespace rldp::models

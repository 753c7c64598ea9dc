#pragma once
// A base model's tensors in a Hugging Face directory: model.safetensors, or the shards that an index names.
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/architecture/model_config.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "models/quantized/bitsandbytes.hpp"

namespace rldp::models {

/// Whether the directory holds weights, as a GGUF file does. Errors: bad_input where it holds them in another form
/// only, saying what to do.
bool has_weights(const std::filesystem::path& path);

/// `stored`, or a copy in `dtype`. Errors: bad_input, beginning with `what`, where it holds NaN or infinity, as stored
/// or in `dtype`.
at::Tensor convert_finite(const at::Tensor& stored, std::optional<at::ScalarType> dtype, const std::string& what);

/// The tensors of base_tensors(config) where they lie, one at a time: numbers, or what bitsandbytes made of a linear
/// module's.
class weight_files {
  public:
    /// A tied embedding may be there under its head's name. Errors: bad_input naming file and tensor (missing, wrong
    /// shape, not of floats), or file and key of the index.
    weight_files(const std::filesystem::path& directory, const model_config& config);

    /// Whether beside the embedding lies a head whose numbers are others.
    bool hold_another_head();
    /// As Hugging Face names them, in order, for each file of the directory that holds some.
    std::map<std::string, std::vector<std::string>> names_by_file() const;
    /// How a matrix lies in blocks; nothing where its numbers are stored.
    std::optional<block_type> find_blocks(const std::string& name) const { return places_.at(name).blocks; }
    /// These blocks, [out, in] also of a Conv1D. Errors: those of gather_bitsandbytes.
    quantized_tensor blocks(const std::string& name) const;
    /// What they stand for, float32 and of the tensor's own shape.
    at::Tensor dequantized(const std::string& name) const;
    /// A view of the mapped file, unchecked. Of numbers, as the next.
    at::Tensor stored(const std::string& name) const;
    /// The bytes of numbers, or of blocks without what lies beside them.
    std::span<const std::uint8_t> view(const std::string& name) const;
    /// convert_finite() of it.
    at::Tensor tensor(const std::string& name, std::optional<at::ScalarType> dtype) const;
    std::int64_t count_bytes(const std::string& name) const;  ///< as stored
    std::string describe(const std::string& name) const;      ///< file and name, for messages
    /// Gives back the memory that holds what was read of it.
    void forget(const std::string& name) const;

  private:
    struct location {
        std::string file, inside;  ///< its name in the file
        std::vector<std::int64_t> shape;
        std::optional<block_type> blocks;
    };

    const safetensors_file& opened(const std::string& file);
    void open_parts(const std::string& name);
    stored_finder finder() const;
    void check_numbers(const std::string& name) const;
    std::filesystem::path find_path(const std::string& name) const;

    std::filesystem::path directory_;
    bool conv1d_;
    std::string embedding_;                       ///< its name, the first of base_tensors(config)
    std::map<std::string, std::string> file_of_;  ///< of each name in the files
    std::map<std::string, location> places_;
    std::map<std::string, safetensors_file> files_;
};

}  // namespace rldp::models

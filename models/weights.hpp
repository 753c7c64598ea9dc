#pragma once
// A base model's tensors from a Hugging Face directory: model.safetensors, or the shards that an index names.
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/causal_lm.hpp"
#include "models/checkpoint/safetensors.hpp"

namespace rldp::models {

/// The tensors of base_tensors(config) where they lie, one at a time.
class weight_files {
  public:
    /// Errors: bad_input naming file and tensor (missing, wrong shape, not of floats), or file and key of the index.
    weight_files(const std::filesystem::path& directory, const model_config& config);

    /// As Hugging Face names them, in order, for each file of the directory that holds some.
    std::map<std::string, std::vector<std::string>> names_by_file() const;
    /// A view of the mapped file, unchecked.
    at::Tensor stored(const std::string& name);
    /// The same, or a copy in `dtype`. Errors: bad_input where it holds NaN or infinity, as stored or in `dtype`.
    at::Tensor tensor(const std::string& name, std::optional<at::ScalarType> dtype);
    /// Gives back the memory that holds what was read of its file.
    void forget(const std::string& name);

  private:
    struct place {
        std::string file, inside;  ///< its name in the file
    };

    const safetensors_file& open(const std::string& file);
    std::filesystem::path path_of(const std::string& name) const;

    std::filesystem::path directory_;
    std::map<std::string, place> places_;
    std::map<std::string, safetensors_file> files_;
};

/// bfloat16 where all of them are stored so, else float32.
at::ScalarType own_precision(const std::filesystem::path& directory, const model_config& config);

/// Exactly the tensors of base_tensors(config), in `dtype` (without it, as they are stored) on `device`: views of the
/// mapped file where these are the file's. Errors: bad_input naming file and tensor (missing, wrong shape, not of
/// floats, NaN or infinity as stored or in `dtype`), or file and key of the index.
std::map<std::string, at::Tensor> load_weights(const std::filesystem::path& directory, const model_config& config,
                                               std::optional<at::ScalarType> dtype, at::Device device);

}  // namespace rldp::models

#pragma once
// A base model's tensors from a Hugging Face directory: model.safetensors, or the shards that an index names.
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/loading.hpp"
#include "models/causal_lm.hpp"
#include "models/checkpoint/safetensors.hpp"

namespace rldp::models {

/// Whether the directory holds weights. Errors: bad_input where it holds them in another form only, saying what to do.
bool has_weights(const std::filesystem::path& directory);

/// read_model_config, with tied_head as the weights have it, if they are there: as in transformers 5, a head in the
/// files that differs from the embedding is the model's, whatever config.json says. Errors: those of both.
model_config read_model(const std::filesystem::path& directory);
/// What is to be said of a model that read_model read: a line for its owner, or nothing.
std::optional<std::string> find_warning(const model_config& config, const std::filesystem::path& directory);

/// The tensors of base_tensors(config) where they lie, one at a time.
class weight_files {
  public:
    /// A tied embedding may be there under its head's name. Errors: bad_input naming file and tensor (missing, wrong
    /// shape, not of floats), or file and key of the index.
    weight_files(const std::filesystem::path& directory, const model_config& config);

    /// Whether beside the embedding lies a head whose numbers are others.
    bool hold_another_head();
    /// As Hugging Face names them, in order, for each file of the directory that holds some.
    std::map<std::string, std::vector<std::string>> names_by_file() const;
    /// A view of the mapped file, unchecked.
    at::Tensor stored(const std::string& name) const;
    /// The same, or a copy in `dtype`. Errors: bad_input where it holds NaN or infinity, as stored or in `dtype`.
    at::Tensor tensor(const std::string& name, std::optional<at::ScalarType> dtype) const;
    /// Gives back the memory that holds what was read of it.
    void forget(const std::string& name) const;

  private:
    struct place {
        std::string file, inside;  ///< its name in the file
    };

    const safetensors_file& opened(const std::string& file);
    std::filesystem::path find_path(const std::string& name) const;

    std::filesystem::path directory_;
    std::string embedding_;                       ///< its name, the first of base_tensors(config)
    std::map<std::string, std::string> file_of_;  ///< of each name in the files
    std::map<std::string, place> places_;
    std::map<std::string, safetensors_file> files_;
};

/// bfloat16 where all of them are stored so, else float32.
at::ScalarType own_precision(const std::filesystem::path& directory, const model_config& config);

struct weights_reading {
    bool digest = false;      ///< of what is stored: names, types, shapes, bytes
    bool known_good = false;  ///< the same files were found finite before, and are not looked through
    on_loading tell = {};
};

struct loaded_weights {
    std::map<std::string, at::Tensor> tensors;
    std::string digest;  ///< in hex; empty unless asked for
};

/// Exactly the tensors of base_tensors(config), in `dtype` (without it, as they are stored) on `device`: views of the
/// mapped file where these are the file's. Each is read once, several at a time. Errors: bad_input naming file and
/// tensor (missing, wrong shape, not of floats, NaN or infinity as stored or in `dtype`), or file and key of the index.
loaded_weights load_weights(const std::filesystem::path& directory, const model_config& config,
                            std::optional<at::ScalarType> dtype, at::Device device, const weights_reading& how = {});

}  // namespace rldp::models

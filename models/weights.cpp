#include "models/weights.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/base/error.hpp"
#include "config/base/json_reader.hpp"
#include "models/architecture/modules.hpp"
#include "models/checkpoint/finite.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "models/checkpoint/safetensors_dtypes.hpp"

namespace rldp::models {

namespace {

namespace fs = std::filesystem;

constexpr auto single_name = "model.safetensors";
constexpr auto index_name = "model.safetensors.index.json";

class checkpoint {
  public:
    explicit checkpoint(const fs::path& directory) : directory_(directory) {
        const auto index = directory / index_name;
        if (fs::exists(directory / single_name) || !fs::exists(index)) {
            main_ = directory / single_name;
            for (const auto& name : open(single_name).names()) file_of_[name] = single_name;
        } else {
            main_ = index;
            read_index(index);
        }
    }

    /// The tensor under its name, or as hub files of GPT-2 have it, without `transformer.`.
    at::Tensor tensor(const std::string& name) {
        const std::string prefix = "transformer.";
        auto found = file_of_.find(name);
        if (found == file_of_.end() && name.starts_with(prefix)) found = file_of_.find(name.substr(prefix.size()));
        if (found == file_of_.end()) refuse(fmt::format("{}: tensor '{}' is missing", main_.string(), name));
        return open(found->second).tensor(found->first);
    }
    fs::path file(const std::string& name) const {
        const auto found = file_of_.find(name);
        return found == file_of_.end() ? main_ : directory_ / found->second;
    }

  private:
    void read_index(const fs::path& path) {
        const nlohmann::json object = read_object(path);
        const nlohmann::json& map = json_reader(object, path.string()).at("weight_map");
        if (!map.is_object()) refuse(path.string() + ": key 'weight_map' must be an object");
        for (const auto& [name, file] : map.items()) {
            // A shard lies beside its index, never elsewhere.
            if (!file.is_string() || fs::path(file.get<std::string>()).filename() != file.get<std::string>())
                refuse(fmt::format("{}: weight_map.{} must be a file name", path.string(), name));
            file_of_[name] = file.get<std::string>();
        }
    }

    const safetensors_file& open(const std::string& file) {
        return files_.try_emplace(file, directory_ / file).first->second;
    }

    fs::path directory_, main_;
    std::map<std::string, std::string> file_of_;
    std::map<std::string, safetensors_file> files_;
};

}  // namespace

std::map<std::string, at::Tensor> load_weights(const fs::path& directory, const model_config& config,
                                               std::optional<at::ScalarType> dtype, at::Device device) {
    checkpoint files(directory);
    std::map<std::string, at::Tensor> views;
    for (const auto& [name, shape] : base_tensors(config)) {
        const at::Tensor tensor = files.tensor(name);
        if (!tensor.is_floating_point())
            refuse(fmt::format("{}: tensor '{}' is not of floats", files.file(name).string(), name));
        if (tensor.sizes() != at::IntArrayRef(shape))
            refuse(fmt::format("{}: tensor '{}' has shape [{}]; config.json asks for [{}]", files.file(name).string(),
                               name, fmt::join(tensor.sizes(), ", "), fmt::join(shape, ", ")));
        views.emplace(name, tensor);
    }
    for (auto& [name, tensor] : views) {
        // Also what was finite in the file may not be in a narrower type.
        tensor = tensor.to(dtype.value_or(tensor.scalar_type()));
        if (!all_finite(tensor))
            refuse(
                fmt::format("{}: tensor '{}' holds numbers that are not finite in {}; the file is damaged, bring back "
                            "the original",
                            files.file(name).string(), name, *dtype_name(tensor.scalar_type())));
        tensor = tensor.to(device);
    }
    return views;
}

}  // namespace rldp::models

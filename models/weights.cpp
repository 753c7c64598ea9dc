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

const std::string hub_prefix = "transformer.";  // which hub files of GPT-2 leave out

std::map<std::string, std::string> indexed_files(const fs::path& index) {
    const nlohmann::json object = read_object(index);
    const nlohmann::json& map = json_reader(object, index.string()).at("weight_map");
    if (!map.is_object()) refuse(index.string() + ": key 'weight_map' must be an object");
    std::map<std::string, std::string> out;
    for (const auto& [name, file] : map.items()) {
        // A shard lies beside its index, never elsewhere.
        if (!file.is_string() || fs::path(file.get<std::string>()).filename() != file.get<std::string>())
            refuse(fmt::format("{}: weight_map.{} must be a file name", index.string(), name));
        out[name] = file.get<std::string>();
    }
    return out;
}

}  // namespace

weight_files::weight_files(const fs::path& directory, const model_config& config) : directory_(directory) {
    const auto index = directory / index_name;
    const bool sharded = fs::exists(index) && !fs::exists(directory / single_name);
    const auto main = sharded ? index : directory / single_name;
    std::map<std::string, std::string> file_of;
    if (sharded)
        file_of = indexed_files(index);
    else
        for (const auto& name : open(single_name).names()) file_of[name] = single_name;
    for (const auto& [name, shape] : base_tensors(config)) {
        auto found = file_of.find(name);
        if (found == file_of.end() && name.starts_with(hub_prefix))
            found = file_of.find(name.substr(hub_prefix.size()));
        if (found == file_of.end()) refuse(fmt::format("{}: tensor '{}' is missing", main.string(), name));
        places_[name] = {found->second, found->first};
        const auto view = stored(name);
        if (!view.is_floating_point())
            refuse(fmt::format("{}: tensor '{}' is not of floats", path_of(name).string(), name));
        if (view.sizes() != at::IntArrayRef(shape))
            refuse(fmt::format("{}: tensor '{}' has shape [{}]; config.json asks for [{}]", path_of(name).string(),
                               name, fmt::join(view.sizes(), ", "), fmt::join(shape, ", ")));
    }
}

const safetensors_file& weight_files::open(const std::string& file) {
    return files_.try_emplace(file, directory_ / file).first->second;
}

fs::path weight_files::path_of(const std::string& name) const {
    return directory_ / places_.at(name).file;
}

std::map<std::string, std::vector<std::string>> weight_files::names_by_file() const {
    std::map<std::string, std::vector<std::string>> out;
    for (const auto& [name, at] : places_) out[at.file].push_back(name);
    return out;
}

at::Tensor weight_files::stored(const std::string& name) {
    const auto& [file, inside] = places_.at(name);
    return open(file).tensor(inside);
}

at::Tensor weight_files::tensor(const std::string& name, std::optional<at::ScalarType> dtype) {
    const auto view = stored(name);
    // Also what was finite in the file may not be in a narrower type.
    const auto out = view.to(dtype.value_or(view.scalar_type()));
    if (!all_finite(out))
        refuse(
            fmt::format("{}: tensor '{}' holds numbers that are not finite in {}; the file is damaged, bring back "
                        "the original",
                        path_of(name).string(), name, *dtype_name(out.scalar_type())));
    return out;
}

void weight_files::forget(const std::string& name) {
    open(places_.at(name).file).forget();
}

at::ScalarType own_precision(const fs::path& directory, const model_config& config) {
    weight_files files(directory, config);
    for (const auto& [file, names] : files.names_by_file())
        for (const auto& name : names)
            if (files.stored(name).scalar_type() != at::kBFloat16) return at::kFloat;
    return at::kBFloat16;
}

std::map<std::string, at::Tensor> load_weights(const fs::path& directory, const model_config& config,
                                               std::optional<at::ScalarType> dtype, at::Device device) {
    weight_files files(directory, config);
    std::map<std::string, at::Tensor> out;
    for (const auto& [file, names] : files.names_by_file())
        for (const auto& name : names) out.emplace(name, files.tensor(name, dtype).to(device));
    return out;
}

}  // namespace rldp::models

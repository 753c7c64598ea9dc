#include "models/weight_files.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/directories.hpp"
#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "models/architecture/family.hpp"
#include "models/gguf/gguf_file.hpp"

namespace rldp::models {

namespace {

namespace fs = std::filesystem;

constexpr auto single_name = "model.safetensors";
constexpr auto index_name = "model.safetensors.index.json";
constexpr auto head_name = "lm_head.weight";

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

bool has_weights(const fs::path& path) {
    if (is_gguf(path)) return true;
    const auto& directory = path;
    if (fs::exists(directory / single_name) || fs::exists(directory / index_name)) return true;
    std::vector<fs::path> others;
    for (const auto& entry : list_entries(directory)) {
        const auto name = entry.path().filename().string();
        if (name.starts_with("pytorch_model") && name.find(".bin") != std::string::npos)
            refuse(
                fmt::format("{}: weights are read as safetensors only; convert them: python3 -c \"from transformers "
                            "import AutoModelForCausalLM as M; M.from_pretrained('{}', "
                            "dtype='auto').save_pretrained('{}')\"",
                            entry.path().string(), directory.string(), directory.string()));
        const auto kind = entry.path().extension();
        if (kind == ".gguf" || kind == ".h5" || kind == ".msgpack" || kind == ".pth") others.push_back(entry.path());
    }
    if (!others.empty() && is_gguf(others.front()))
        refuse(directory.string() + ": holds no safetensors; give the GGUF file itself: " + others.front().string());
    if (!others.empty())
        refuse(others.front().string() + ": weights are read as safetensors only; take the model in that form");
    return false;
}

weight_files::weight_files(const fs::path& directory, const model_config& config)
    : directory_(directory), conv1d_(config.model_type == "gpt2"), embedding_(base_tensors(config).front().first) {
    has_weights(directory);  // for its refusals
    const auto index = directory / index_name;
    const bool sharded = fs::exists(index) && !fs::exists(directory / single_name);
    const auto main = sharded ? index : directory / single_name;
    if (sharded)
        file_of_ = indexed_files(index);
    else
        for (const auto& name : opened(single_name).names()) file_of_[name] = single_name;
    for (const auto& [name, shape] : base_tensors(config)) {
        auto found = file_of_.find(name);
        if (found == file_of_.end() && name.starts_with(hub_prefix))
            found = file_of_.find(name.substr(hub_prefix.size()));
        if (found == file_of_.end() && config.tied_head && name == embedding_) found = file_of_.find(head_name);
        if (found == file_of_.end()) refuse(fmt::format("{}: tensor '{}' is missing", main.string(), name));
        open_parts(found->first);
        const auto blocks = shape.size() == 2 ? find_bitsandbytes(found->first, finder()) : std::nullopt;
        places_[name] = {found->second, found->first, shape, blocks};
        if (!blocks) check_numbers(name);
    }
}

// All that belongs to a matrix, wherever it lies.
void weight_files::open_parts(const std::string& name) {
    const auto module = name.substr(0, name.rfind('.') + 1);
    for (auto part = file_of_.lower_bound(module); part != file_of_.end() && part->first.starts_with(module); ++part)
        opened(part->second);
}

stored_finder weight_files::finder() const {
    return [this](const std::string& name) -> std::optional<stored_tensor> {
        const auto found = file_of_.find(name);
        if (found == file_of_.end()) return std::nullopt;
        const auto stored = files_.at(found->second).bytes(name);
        return stored_tensor{stored.dtype, stored.shape, stored.bytes, (directory_ / found->second).string()};
    };
}

void weight_files::check_numbers(const std::string& name) const {
    const auto view = stored(name);
    if (!view.is_floating_point()) refuse(describe(name) + " is not of floats");
    if (const auto& shape = places_.at(name).shape; view.sizes() != at::IntArrayRef(shape))
        refuse(fmt::format("{} has shape [{}]; config.json asks for [{}]", describe(name),
                           fmt::join(view.sizes(), ", "), fmt::join(shape, ", ")));
}

quantized_tensor weight_files::blocks(const std::string& name) const {
    const auto& place = places_.at(name);
    // bitsandbytes turns a Conv1D's matrix before it quantizes it.
    return gather_bitsandbytes(place.inside, place.shape[conv1d_ ? 1 : 0], place.shape[conv1d_ ? 0 : 1], finder());
}

at::Tensor weight_files::dequantized(const std::string& name) const {
    const auto matrix = blocks(name);
    auto out = at::empty({matrix.rows, matrix.columns}, at::kFloat);
    matrix.read_rows(0, matrix.rows, out.data_ptr<float>());
    return conv1d_ ? out.t().contiguous() : out;
}

bool weight_files::hold_another_head() {
    const auto head = file_of_.find(head_name);
    if (head == file_of_.end() || places_.at(embedding_).inside == head_name) return false;
    if (find_blocks(embedding_)) return false;
    const auto embedding = stored(embedding_), own = opened(head->second).tensor(head_name);
    return !at::equal(own.to(embedding.scalar_type()), embedding);
}

const safetensors_file& weight_files::opened(const std::string& file) {
    return files_.try_emplace(file, directory_ / file).first->second;
}

fs::path weight_files::find_path(const std::string& name) const {
    return directory_ / places_.at(name).file;
}

std::map<std::string, std::vector<std::string>> weight_files::names_by_file() const {
    std::map<std::string, std::vector<std::string>> out;
    for (const auto& [name, at] : places_) out[at.file].push_back(name);
    return out;
}

at::Tensor weight_files::stored(const std::string& name) const {
    const auto& place = places_.at(name);
    require(!place.blocks, "numbers of a tensor that lies in blocks");
    return files_.at(place.file).tensor(place.inside);
}

at::Tensor weight_files::tensor(const std::string& name, std::optional<at::ScalarType> dtype) const {
    return convert_finite(stored(name), dtype, describe(name));
}

std::string weight_files::describe(const std::string& name) const {
    return fmt::format("{}: tensor '{}'", find_path(name).string(), name);
}

at::Tensor convert_finite(const at::Tensor& stored, std::optional<at::ScalarType> dtype, const std::string& what) {
    // Also what was finite in the file may not be in a narrower type.
    auto out = stored.to(dtype.value_or(stored.scalar_type()));
    if (!all_finite(out))
        refuse(fmt::format("{} holds numbers that are not finite in {}; the file is damaged, bring back the original",
                           what, *dtype_name(out.scalar_type())));
    return out;
}

std::span<const std::uint8_t> weight_files::view(const std::string& name) const {
    const auto& place = places_.at(name);
    return files_.at(place.file).bytes(place.inside).bytes;
}

std::int64_t weight_files::count_bytes(const std::string& name) const {
    const auto& place = places_.at(name);
    return std::ssize(files_.at(place.file).bytes(place.inside).bytes);
}

void weight_files::forget(const std::string& name) const {
    const auto& place = places_.at(name);
    files_.at(place.file).forget(place.inside);
}

}  // namespace rldp::models

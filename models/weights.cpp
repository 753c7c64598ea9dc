#include "models/weights.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sodium.h>

#include <array>
#include <atomic>
#include <exception>
#include <mutex>
#include <string_view>

#include "base/directories.hpp"
#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "models/architecture/family.hpp"
#include "models/checkpoint/safetensors.hpp"

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

bool has_weights(const fs::path& directory) {
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
    if (!others.empty())
        refuse(others.front().string() + ": weights are read as safetensors only; take the model in that form");
    return false;
}

model_config read_model(const fs::path& directory) {
    auto config = read_model_config(directory);
    if (config.tied_head && has_weights(directory) && weight_files(directory, config).hold_another_head()) {
        config.tied_head = false;
        config.head_beside_config = true;
    }
    return config;
}

std::optional<std::string> find_warning(const model_config& config, const fs::path& directory) {
    if (!config.head_beside_config) return std::nullopt;
    return fmt::format(
        "{}: tie_word_embeddings is true, but the weights hold an lm_head.weight that differs from the "
        "embedding; the model has that head, as in transformers 5",
        (directory / "config.json").string());
}

weight_files::weight_files(const fs::path& directory, const model_config& config)
    : directory_(directory), embedding_(base_tensors(config).front().first) {
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
        places_[name] = {found->second, found->first};
        opened(found->second);
        const auto view = stored(name);
        if (!view.is_floating_point())
            refuse(fmt::format("{}: tensor '{}' is not of floats", find_path(name).string(), name));
        if (view.sizes() != at::IntArrayRef(shape))
            refuse(fmt::format("{}: tensor '{}' has shape [{}]; config.json asks for [{}]", find_path(name).string(),
                               name, fmt::join(view.sizes(), ", "), fmt::join(shape, ", ")));
    }
}

bool weight_files::hold_another_head() {
    const auto head = file_of_.find(head_name);
    if (head == file_of_.end() || places_.at(embedding_).inside == head_name) return false;
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
    const auto& [file, inside] = places_.at(name);
    return files_.at(file).tensor(inside);
}

at::Tensor weight_files::tensor(const std::string& name, std::optional<at::ScalarType> dtype) const {
    const auto view = stored(name);
    // Also what was finite in the file may not be in a narrower type.
    const auto out = view.to(dtype.value_or(view.scalar_type()));
    if (!all_finite(out))
        refuse(
            fmt::format("{}: tensor '{}' holds numbers that are not finite in {}; the file is damaged, bring back "
                        "the original",
                        find_path(name).string(), name, *dtype_name(out.scalar_type())));
    return out;
}

void weight_files::forget(const std::string& name) const {
    const auto& [file, inside] = places_.at(name);
    files_.at(file).forget(inside);
}

at::ScalarType own_precision(const fs::path& directory, const model_config& config) {
    const weight_files files(directory, config);
    for (const auto& [file, names] : files.names_by_file())
        for (const auto& name : names)
            if (files.stored(name).scalar_type() != at::kBFloat16) return at::kFloat;
    return at::kBFloat16;
}

namespace {

using digest = std::array<unsigned char, crypto_generichash_BYTES>;

std::string_view view_bytes(const at::Tensor& numbers) {
    return {static_cast<const char*>(numbers.data_ptr()), numbers.nbytes()};
}

std::string_view view_bytes(const digest& from) {
    return {reinterpret_cast<const char*>(from.data()), from.size()};
}

digest hash(std::string_view bytes) {
    digest out;
    crypto_generichash(out.data(), out.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                       nullptr, 0);
    return out;
}

std::string hex(const digest& from) {
    std::array<char, 2 * std::tuple_size_v<digest> + 1> out;
    return sodium_bin2hex(out.data(), out.size(), from.data(), from.size());
}

/// What one tensor becomes.
struct loaded_tensor {
    at::Tensor tensor;
    digest stored = {};
};

}  // namespace

loaded_weights load_weights(const fs::path& directory, const model_config& config, std::optional<at::ScalarType> dtype,
                            at::Device device, const weights_reading& how) {
    const weight_files files(directory, config);
    std::vector<std::string> names;
    std::int64_t total = 0;
    for (const auto& [name, shape] : base_tensors(config)) {
        names.push_back(name);
        total += static_cast<std::int64_t>(files.stored(name).nbytes());
    }
    std::vector<loaded_tensor> loaded(names.size());
    std::mutex telling;
    std::int64_t done = 0;
    const auto load = [&](std::size_t i) {
        const auto stored = files.stored(names[i]);
        if (how.digest) loaded[i].stored = hash(view_bytes(stored));
        const auto wanted =
            how.known_good ? stored.to(dtype.value_or(stored.scalar_type())) : files.tensor(names[i], dtype);
        loaded[i].tensor = wanted.to(device);
        if (!loaded[i].tensor.is_alias_of(stored)) files.forget(names[i]);
        const std::lock_guard one_at_a_time(telling);
        done += static_cast<std::int64_t>(stored.nbytes());
        if (how.tell) how.tell({"weights", done, total, true});
    };
    // Tensors differ in size: each thread takes the next one when it is done with its last.
    std::atomic<std::size_t> next = 0;
    std::vector<std::exception_ptr> refused(names.size());
    at::parallel_for(0, at::get_num_threads(), 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto thread = begin; thread < end; ++thread)
            for (std::size_t i = next++; i < names.size(); i = next++) try {
                    load(i);
                } catch (...) {
                    refused[i] = std::current_exception();
                    next = names.size();  // the others need not be read
                }
    });
    // Those before it are all read: the first is the same on any number of threads.
    for (const auto& first : refused)
        if (first) std::rethrow_exception(first);

    loaded_weights out;
    std::string facts;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto stored = files.stored(names[i]);
        facts +=
            fmt::format("{} {} [{}]\n", names[i], *dtype_name(stored.scalar_type()), fmt::join(stored.sizes(), ", "));
        facts += view_bytes(loaded[i].stored);
        out.tensors.emplace(names[i], std::move(loaded[i].tensor));
    }
    if (how.digest) out.digest = hex(hash(facts));
    return out;
}

}  // namespace rldp::models

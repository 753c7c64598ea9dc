#include "models/weights.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sodium.h>

#include <array>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <numeric>
#include <string_view>

#include "base/error.hpp"
#include "models/architecture/family.hpp"
#include "models/quantized/quantize.hpp"
#include "models/weight_files.hpp"

namespace rldp::models {

namespace fs = std::filesystem;

model_config read_model(const fs::path& directory) {
    auto config = read_model_config(directory);
    if (!has_weights(directory)) return config;
    weight_files files(directory, config);
    const auto tensors = base_tensors(config);  // a head beside the configuration is none of them, and of numbers
    if (config.tied_head && files.hold_another_head()) {
        config.tied_head = false;
        config.head_beside_config = true;
    }
    for (const auto& [name, shape] : tensors)
        if (const auto type = files.find_blocks(name)) {
            config.in_blocks.numbers += shape[0] * shape[1];
            config.in_blocks.bytes += files.count_bytes(name);
            config.in_blocks.type = config.in_blocks.type.empty() ? name_of(*type) : config.in_blocks.type;
        }
    return config;
}

std::optional<block_type> to_block_type(quantization asked) {
    if (asked == quantization::none) return std::nullopt;
    return parse_named<block_type>(name_of(asked));
}

std::int64_t count_weight_bytes(const model_config& config, std::int64_t number_bytes,
                                std::optional<block_type> quantize) {
    const auto modules = list_module_weights(config);
    std::int64_t numbers = -config.in_blocks.numbers, blocks = config.in_blocks.bytes;
    for (const auto& [name, shape] : base_tensors(config)) {
        const auto count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
        if (quantize && modules.contains(name) && config.in_blocks.numbers == 0) {
            // A matrix that doesn't fill blocks is refused when it is read.
            const auto columns = config.model_type == "gpt2" ? shape[0] : shape[1];
            blocks += count / columns * count_row_bytes(*quantize, columns);
        } else {
            numbers += count;
        }
    }
    return number_bytes * numbers + blocks;
}

std::optional<std::string> find_warning(const model_config& config, const fs::path& directory) {
    if (!config.head_beside_config) return std::nullopt;
    return fmt::format(
        "{}: tie_word_embeddings is true, but the weights hold an lm_head.weight that differs from the "
        "embedding; the model has that head, as in transformers 5",
        (directory / "config.json").string());
}

at::ScalarType own_precision(const fs::path& directory, const model_config& config) {
    const weight_files files(directory, config);
    for (const auto& [file, names] : files.names_by_file())
        for (const auto& name : names)
            if (!files.find_blocks(name) && files.stored(name).scalar_type() != at::kBFloat16) return at::kFloat;
    return at::kBFloat16;
}

namespace {

using digest = std::array<unsigned char, crypto_generichash_BYTES>;

std::string_view view_bytes(const at::Tensor& numbers) {
    return {static_cast<const char*>(numbers.data_ptr()), numbers.nbytes()};
}

std::string_view view_bytes(std::span<const std::uint8_t> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
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

/// What one tensor becomes: numbers, or blocks.
struct loaded_tensor {
    at::Tensor numbers;
    std::optional<quantized_tensor> blocks;
    std::string form;    ///< of what is stored: type and shape
    digest stored = {};  ///< of its bytes
};

digest hash(const quantized_tensor& blocks) {
    std::string all(reinterpret_cast<const char*>(hash(view_bytes(blocks.bytes)).data()), sizeof(digest));
    if (blocks.scales) {
        const auto& scales = *blocks.scales;
        all.append(reinterpret_cast<const char*>(scales.map.data()), sizeof scales.map);
        all.append(reinterpret_cast<const char*>(scales.absmax.data()), scales.absmax.size() * sizeof(float));
        all.append(reinterpret_cast<const char*>(&scales.offset), sizeof scales.offset);
    }
    return hash(all);
}

/// Blocks of a linear module's numbers [out, in], or a Conv1D's [in, out]. A row is float32 for a moment alone.
quantized_tensor quantize(block_type type, const at::Tensor& stored, bool conv1d, const std::string& what) {
    const auto matrix = conv1d ? stored.t() : stored;
    if (!fills_blocks(type, matrix.size(1)))
        refuse(
            fmt::format("model.quantize: {} has rows of {} numbers, which don't fill {}'s blocks of {}; give int8, or "
                        "leave it out",
                        what, matrix.size(1), name_of(type), format_of(type).elements));
    const auto largest = largest_quantizable(type);
    at::Tensor row;
    return quantize_matrix(type, matrix.size(0), matrix.size(1), [&](std::int64_t i) {
        row = matrix[i].to(at::kFloat).contiguous();
        if (!all_finite(row) || row.abs().max().item<float>() > largest)
            refuse(
                fmt::format("{} holds numbers that are not finite, or beyond {}; the file is damaged, bring back the "
                            "original",
                            what, name_of(type)));
        return row.data_ptr<float>();
    });
}

std::vector<std::string> list_names(const model_config& config) {
    std::vector<std::string> out;
    for (const auto& [name, shape] : base_tensors(config)) out.push_back(name);
    return out;
}

// Tensors differ in size: each thread takes the next one when it is done with its last.
void load_all(std::size_t count, const std::function<void(std::size_t)>& load) {
    std::atomic<std::size_t> next = 0;
    std::vector<std::exception_ptr> refused(count);
    at::parallel_for(0, at::get_num_threads(), 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto thread = begin; thread < end; ++thread)
            for (std::size_t i = next++; i < count; i = next++) try {
                    load(i);
                } catch (...) {
                    refused[i] = std::current_exception();
                    next = count;  // the others need not be read
                }
    });
    // Those before it are all read: the first is the same on any number of threads.
    for (const auto& first : refused)
        if (first) std::rethrow_exception(first);
}

}  // namespace

loaded_weights load_weights(const fs::path& directory, const model_config& config, std::optional<at::ScalarType> dtype,
                            at::Device device, const weights_reading& how) {
    const weight_files files(directory, config);
    const bool conv1d = config.model_type == "gpt2";
    const auto names = list_names(config);
    const auto modules = list_module_weights(config);
    std::int64_t total = 0;
    for (const auto& name : names) total += files.count_bytes(name);
    std::vector<loaded_tensor> loaded(names.size());
    std::mutex telling;
    std::int64_t done = 0;
    const auto load = [&](std::size_t i) {
        const auto& name = names[i];
        auto& out = loaded[i];
        if (const auto type = files.find_blocks(name)) {
            out.blocks = files.blocks(name);
            out.form = fmt::format("{} [{}, {}]", name_of(*type), out.blocks->rows, out.blocks->columns);
            if (how.digest) out.stored = hash(*out.blocks);
            files.forget(name);
        } else {
            const auto stored = files.stored(name);
            out.form = fmt::format("{} [{}]", *dtype_name(stored.scalar_type()), fmt::join(stored.sizes(), ", "));
            if (how.digest) out.stored = hash(view_bytes(stored));
            if (how.quantize && modules.contains(name)) {
                out.blocks =
                    quantize(*how.quantize, stored, conv1d, fmt::format("{}: tensor '{}'", directory.string(), name));
                files.forget(name);
            } else {
                const auto wanted =
                    how.known_good ? stored.to(dtype.value_or(stored.scalar_type())) : files.tensor(name, dtype);
                out.numbers = wanted.to(device);
                if (!out.numbers.is_alias_of(stored)) files.forget(name);
            }
        }
        const std::lock_guard one_at_a_time(telling);
        done += files.count_bytes(name);
        if (how.tell) how.tell({"weights", done, total, true});
    };
    load_all(names.size(), load);

    loaded_weights out;
    std::string facts;
    for (std::size_t i = 0; i < names.size(); ++i) {
        facts += fmt::format("{} {}\n", names[i], loaded[i].form);
        facts += view_bytes(loaded[i].stored);
        if (loaded[i].blocks)
            out.weights.blocks.emplace(names[i], weight_matrix(*loaded[i].blocks, dtype.value_or(at::kFloat)));
        else
            out.weights.numbers.emplace(names[i], std::move(loaded[i].numbers));
    }
    if (how.digest) out.digest = hex(hash(facts));
    return out;
}

}  // namespace rldp::models

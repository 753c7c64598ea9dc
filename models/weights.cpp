#include "models/weights.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <string_view>
#include <variant>

#include "base/error.hpp"
#include "models/architecture/family.hpp"
#include "models/gguf/gguf_model.hpp"
#include "models/quantized/quantize.hpp"
#include "models/weight_files.hpp"

namespace rldp::models {

namespace fs = std::filesystem;

namespace {

/// What a block format is to LibTorch, where it is no block.
std::optional<at::ScalarType> to_scalar_type(block_type type) {
    switch (type) {
        case block_type::f32:
            return at::kFloat;
        case block_type::f16:
            return at::kHalf;
        case block_type::bf16:
            return at::kBFloat16;
        default:
            return std::nullopt;
    }
}

/// Sums up what lies in blocks, and names the format that most numbers have.
class blocks_tally {
  public:
    void add(block_type type, const std::vector<std::int64_t>& shape, std::int64_t bytes) {
        held_.numbers += shape[0] * shape[1];
        held_.bytes += bytes;
        numbers_[type] += shape[0] * shape[1];
    }
    model_config::held_in_blocks finish() {
        const auto most = std::max_element(numbers_.begin(), numbers_.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        if (most != numbers_.end()) held_.type = name_of(most->first);
        return held_;
    }

  private:
    model_config::held_in_blocks held_;
    std::map<block_type, std::int64_t> numbers_;
};

model_config read_gguf(const fs::path& path) {
    const gguf_file file(path);
    auto config = read_gguf_config(file);
    blocks_tally tally;
    for (const auto& [name, shape] : base_tensors(config)) {
        const auto& place = file.tensors().at(to_gguf_name(config, name));
        if (!to_scalar_type(place.type))
            tally.add(place.type, shape, static_cast<std::int64_t>(place.end - place.begin));
    }
    config.in_blocks = tally.finish();
    return config;
}

}  // namespace

model_config read_model(const fs::path& path) {
    if (is_gguf(path)) return read_gguf(path);
    auto config = read_model_config(path);
    if (!has_weights(path)) return config;
    weight_files files(path, config);
    blocks_tally tally;
    for (const auto& [name, shape] : base_tensors(config))
        if (const auto type = files.find_blocks(name)) tally.add(*type, shape, files.count_bytes(name));
    config.in_blocks = tally.finish();
    if (config.tied_head && files.hold_another_head()) {
        config.tied_head = false;
        config.head_beside_config = true;
    }
    return config;
}

std::vector<std::int64_t> find_stop_tokens(const fs::path& path) {
    return is_gguf(path) ? read_gguf_config(gguf_file(path)).eos : read_stop_tokens(path);
}

std::optional<block_type> to_block_type(quantization asked) {
    if (asked == quantization::none) return std::nullopt;
    return parse_named<block_type>(name_of(asked));
}

quantized_tensor quantize_weight(block_type type, const at::Tensor& numbers, bool conv1d, const std::string& what) {
    const auto matrix = conv1d ? numbers.t() : numbers;
    if (!fills_blocks(type, matrix.size(1)))
        refuse(
            fmt::format("model.quantize: {} has rows of {} numbers, which don't fill {}'s blocks of {}; give int8, or "
                        "leave it out",
                        what, matrix.size(1), name_of(type), format_of(type).elements));
    const auto largest = largest_quantizable(type);
    at::Tensor row;
    return quantize_matrix(type, matrix.size(0), matrix.size(1), [&](std::int64_t i) {
        row = convert_finite(matrix[i], at::kFloat, what).contiguous();
        if (row.abs().max().item<float>() > largest)
            refuse(
                fmt::format("model.quantize: {} holds numbers beyond {}, which {} can't scale; give int8, or leave it "
                            "out",
                            what, largest, name_of(type)));
        return row.data_ptr<float>();
    });
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

std::vector<std::string> list_matrices(const model_config& config, std::int64_t layer) {
    std::vector<std::string> out;
    for (const auto& module : block_modules(config, layer)) {
        auto name = (module.inside.empty() ? module.name : module.inside) + ".weight";
        if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(std::move(name));
    }
    return out;
}

std::int64_t count_layer_bytes(const model_config& config, std::int64_t number_bytes,
                               std::optional<block_type> quantize) {
    std::map<std::string, std::vector<std::int64_t>> shapes;
    for (const auto& [name, shape] : base_tensors(config)) shapes[name] = shape;
    // Of a base that lies in blocks, all matrices are taken to lie in such as most do.
    const auto& in_blocks = config.in_blocks;
    const double mean =
        in_blocks.numbers == 0 ? 0 : static_cast<double>(in_blocks.bytes) / static_cast<double>(in_blocks.numbers);
    std::int64_t most = 0;
    for (std::int64_t layer = 0; layer < config.layers; ++layer) {
        std::int64_t bytes = 0;
        for (const auto& name : list_matrices(config, layer)) {
            const auto& shape = shapes.at(name);
            const auto count = shape[0] * shape[1], columns = config.model_type == "gpt2" ? shape[0] : shape[1];
            if (in_blocks.numbers > 0)
                bytes += std::llround(mean * static_cast<double>(count));
            else
                bytes += quantize ? count / columns * count_row_bytes(*quantize, columns) : count * number_bytes;
        }
        most = std::max(most, bytes);
    }
    return most;
}

std::optional<std::string> find_warning(const model_config& config, const fs::path& directory) {
    if (!config.head_beside_config) return std::nullopt;
    return fmt::format(
        "{}: tie_word_embeddings is true, but the weights hold an lm_head.weight that differs from the "
        "embedding; the model has that head, as in transformers 5",
        (directory / "config.json").string());
}

namespace {

/// Of what is not in blocks.
bool has_numbers_in(const weight_files& files, at::ScalarType dtype, bool and_blocks) {
    for (const auto& [file, names] : files.names_by_file())
        for (const auto& name : names)
            if (files.find_blocks(name) ? !and_blocks : files.stored(name).scalar_type() != dtype) return false;
    return true;
}

}  // namespace

at::ScalarType own_precision(const fs::path& path, const model_config& config) {
    return !is_gguf(path) && has_numbers_in(weight_files(path, config), at::kBFloat16, true) ? at::kBFloat16
                                                                                             : at::kFloat;
}

bool is_stored_as(const fs::path& path, const model_config& config, at::ScalarType dtype) {
    return !is_gguf(path) && has_numbers_in(weight_files(path, config), dtype, false);
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

/// Numbers, or blocks.
using stored_weight = std::variant<at::Tensor, quantized_tensor>;

/// Where a base's tensors come from.
class weight_source {
  public:
    virtual ~weight_source() = default;
    virtual std::int64_t count_bytes(const std::string& name) const = 0;
    /// A view where it is one in the file; else no page of the file is kept for it.
    virtual stored_weight stored(const std::string& name) const = 0;
    /// As they lie in the file; of blocks in several tensors, the numbers'.
    virtual std::span<const std::uint8_t> view(const std::string& name) const = 0;
    virtual void forget(const std::string& name) const = 0;  ///< of what was read the pages
    virtual std::string describe(const std::string& name) const = 0;
};

class directory_source final : public weight_source {
  public:
    directory_source(const fs::path& directory, const model_config& config) : files_(directory, config) {}
    std::int64_t count_bytes(const std::string& name) const override { return files_.count_bytes(name); }
    stored_weight stored(const std::string& name) const override {
        if (!files_.find_blocks(name)) return files_.stored(name);
        auto copied = files_.blocks(name);
        files_.forget(name);
        return copied;
    }
    std::span<const std::uint8_t> view(const std::string& name) const override { return files_.view(name); }
    void forget(const std::string& name) const override { files_.forget(name); }
    std::string describe(const std::string& name) const override { return files_.describe(name); }

  private:
    weight_files files_;
};

class gguf_source final : public weight_source {
  public:
    gguf_source(const fs::path& file, const model_config& config) : file_(file), config_(config) {
        for (auto& [name, shape] : base_tensors(config)) shapes_.emplace(name, shape);
        if (config.model_type == "gpt2") turned_ = list_module_weights(config);
    }
    std::int64_t count_bytes(const std::string& name) const override {
        const auto& place = file_.tensors().at(to_gguf_name(config_, name));
        return static_cast<std::int64_t>(place.end - place.begin);
    }
    stored_weight stored(const std::string& name) const override {
        auto found = read_gguf_tensor(file_, config_, name);
        const auto type = to_scalar_type(found.type);
        const bool copied = found.bytes.data() != file_.tensor(to_gguf_name(config_, name)).bytes.data();
        if (copied) forget(name);
        if (!type) return found;
        const auto view = [&](at::IntArrayRef shape) {  // aligned: as the format asks for, or copied
            return at::from_blob(
                const_cast<std::uint8_t*>(found.bytes.data()), shape, [keep = found.owner](void*) {},
                at::TensorOptions(*type));
        };
        if (!turned_.contains(name)) return view(shapes_.at(name));
        auto conv1d = view({found.rows, found.columns}).t().contiguous();
        forget(name);
        return conv1d;
    }
    std::span<const std::uint8_t> view(const std::string& name) const override {
        return file_.tensor(to_gguf_name(config_, name)).bytes;
    }
    void forget(const std::string& name) const override { file_.forget(to_gguf_name(config_, name)); }
    std::string describe(const std::string& name) const override {
        return fmt::format("{}: tensor '{}'", file_.origin(), to_gguf_name(config_, name));
    }

  private:
    gguf_file file_;
    const model_config& config_;
    std::map<std::string, std::vector<std::int64_t>> shapes_;
    std::set<std::string> turned_;  ///< of a GPT-2, whose modules lie as [out, in]
};

/// What one tensor becomes.
struct loaded_tensor {
    stored_weight held;
    tensor_facts facts;
};

/// Of its size and some bytes all over it: where other numbers are stored, some of these are others.
std::string glimpse(std::span<const std::uint8_t> bytes) {
    constexpr std::size_t places = 32, each = 128;
    auto seen = std::to_string(bytes.size());
    for (std::size_t i = 0; i < places; ++i) {
        const auto first = bytes.size() > each ? (bytes.size() - each) / (places - 1) * i : 0;
        seen += view_bytes(bytes.subspan(first, std::min(each, bytes.size())));
    }
    return hex(hash(seen));
}

digest hash(const quantized_tensor& blocks) {
    std::string all(view_bytes(hash(view_bytes(blocks.bytes))));
    if (blocks.scales) {
        const auto& scales = *blocks.scales;
        all.append(reinterpret_cast<const char*>(scales.map.data()), sizeof scales.map);
        all.append(reinterpret_cast<const char*>(scales.absmax.data()), scales.absmax.size() * sizeof(float));
        all.append(reinterpret_cast<const char*>(&scales.offset), sizeof scales.offset);
    }
    return hash(all);
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

std::string combine_facts(const model_config& config, const std::map<std::string, tensor_facts>& all) {
    std::string text;
    for (const auto& name : list_names(config)) {
        const auto& [form, stored] = all.at(name);
        digest bytes{};
        require(
            sodium_hex2bin(bytes.data(), bytes.size(), stored.data(), stored.size(), nullptr, nullptr, nullptr) == 0,
            "a digest that is none");
        text += fmt::format("{} {}\n", name, form);
        text += view_bytes(bytes);
    }
    return hex(hash(text));
}

loaded_weights load_weights(const fs::path& path, const model_config& config, std::optional<at::ScalarType> dtype,
                            at::Device device, const weights_reading& how) {
    std::unique_ptr<const weight_source> source;
    if (is_gguf(path))
        source = std::make_unique<gguf_source>(path, config);
    else
        source = std::make_unique<directory_source>(path, config);
    const bool conv1d = config.model_type == "gpt2";
    loaded_weights result;
    std::vector<std::string> names;
    for (const auto& name : list_names(config)) {
        if (how.wanted && how.digest) {
            result.glimpses[name] = glimpse(source->view(name));
            source->forget(name);
        }
        if (!how.wanted || how.wanted(name)) names.push_back(name);
    }
    const auto modules = list_module_weights(config);
    std::int64_t total = 0;
    for (const auto& name : names) total += source->count_bytes(name);
    std::vector<loaded_tensor> loaded(names.size());
    const auto note = [&](loaded_tensor& of, std::string form, const digest& stored) {
        of.facts.form = std::move(form);
        of.facts.digest = hex(stored);
    };
    const auto load_numbers = [&](const at::Tensor& stored, const std::string& name, loaded_tensor& out) {
        if (how.digest)
            note(out, fmt::format("{} [{}]", *dtype_name(stored.scalar_type()), fmt::join(stored.sizes(), ", ")),
                 hash(view_bytes(stored)));
        if (how.quantize && modules.contains(name)) {
            out.held = quantize_weight(*how.quantize, stored, conv1d, source->describe(name));
            source->forget(name);
            return;
        }
        const auto numbers = how.known_good ? stored.to(dtype.value_or(stored.scalar_type()))
                                            : convert_finite(stored, dtype, source->describe(name));
        out.held = numbers.to(device);
        if (!std::get<at::Tensor>(out.held).is_alias_of(stored)) source->forget(name);
    };
    const auto load_blocks = [&](quantized_tensor stored, const std::string& name, loaded_tensor& out) {
        if (how.digest)
            note(out, fmt::format("{} [{}, {}]", name_of(stored.type), stored.rows, stored.columns), hash(stored));
        if (!how.known_good && !stored.all_finite())
            refuse(source->describe(name) +
                   " holds scales that are not finite; the file is damaged, bring back the original");
        out.held = std::move(stored);
    };
    std::mutex telling;
    std::int64_t done = 0;
    load_all(names.size(), [&](std::size_t i) {
        const auto& name = names[i];
        auto stored = source->stored(name);
        if (auto* blocks = std::get_if<quantized_tensor>(&stored))
            load_blocks(std::move(*blocks), name, loaded[i]);
        else
            load_numbers(std::get<at::Tensor>(stored), name, loaded[i]);
        const std::lock_guard one_at_a_time(telling);
        done += source->count_bytes(name);
        if (how.tell) how.tell({"weights", done, total, true});
    });

    for (std::size_t i = 0; i < names.size(); ++i) {
        if (how.digest) result.facts[names[i]] = std::move(loaded[i].facts);
        if (auto* blocks = std::get_if<quantized_tensor>(&loaded[i].held))
            result.weights.blocks.emplace(names[i], weight_matrix(std::move(*blocks), dtype.value_or(at::kFloat)));
        else
            result.weights.numbers.emplace(names[i], std::move(std::get<at::Tensor>(loaded[i].held)));
    }
    if (how.digest && !how.wanted) result.digest = combine_facts(config, result.facts);
    return result;
}

}  // namespace rldp::models

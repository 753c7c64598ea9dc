#include <ATen/Functions.h>
#include <c10/core/ScalarType.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/json_reader.hpp"
#include "base/mapped_file.hpp"
#include "models/checkpoint/companions.hpp"
#include "models/checkpoint/safetensors.hpp"

namespace rldp::models {

namespace {

/// `exponent`: the bits that are all set in NaN and infinity, and in no other number.
template <class Word>
bool none_with(const at::Tensor& numbers, Word exponent) {
    constexpr std::int64_t block = 1 << 14;  // words; within one nothing branches, so that it vectorises
    const auto* words = static_cast<const Word*>(numbers.data_ptr());
    for (std::int64_t begin = 0; begin < numbers.numel(); begin += block) {
        const auto end = std::min(begin + block, numbers.numel());
        Word found = 0;
        for (auto i = begin; i < end; ++i) found |= static_cast<Word>((words[i] & exponent) == exponent);
        if (found != 0) return false;
    }
    return true;
}

}  // namespace

bool all_finite(const at::Tensor& numbers) {
    const auto plain = numbers.contiguous();
    switch (plain.scalar_type()) {
        case at::kDouble:
            return none_with<std::uint64_t>(plain, 0x7ff0000000000000);
        case at::kFloat:
            return none_with<std::uint32_t>(plain, 0x7f800000);
        case at::kBFloat16:
            return none_with<std::uint16_t>(plain, 0x7f80);
        case at::kHalf:
            return none_with<std::uint16_t>(plain, 0x7c00);
        default:
            bug("all_finite: not a tensor of floats");
    }
}

void copy_companions(const std::filesystem::path& from, const std::filesystem::path& to,
                     const nlohmann::ordered_json& changes) {
    for (const char* name :
         {"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
          "added_tokens.json", "vocab.json", "merges.txt", "tokenizer.model", "chat_template.jinja"})
        if (std::filesystem::exists(from / name)) write_file(to / name, read_file(from / name));
    if (changes.empty()) return;
    auto config = nlohmann::ordered_json::parse(read_file(to / "config.json"));
    config.merge_patch(changes);
    write_file(to / "config.json", config.dump(2) + "\n");
}

namespace {

constexpr std::size_t prefix = 8;                            // bytes of the header's length
constexpr std::size_t longest_header = 100'000'000;          // bytes; the reference implementation's limit
constexpr std::size_t most_dimensions = 16;                  // of what is read
constexpr std::size_t most_elements = std::size_t{1} << 59;  // likewise; their bytes fit 63 bits

std::uint64_t little_endian(const unsigned char* bytes) {
    std::uint64_t value = 0;
    for (int i = 7; i >= 0; --i) value = value << 8 | bytes[i];
    return value;
}

// A list of non-negative integers below 2^63.
std::vector<std::int64_t> sizes(const nlohmann::json& list, const std::string& where) {
    const auto is_size = [](const nlohmann::json& v) {
        return v.is_number_unsigned() && v.get<std::uint64_t>() < (std::uint64_t{1} << 63);
    };
    if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_size)) refuse(where + " must be a list of sizes");
    return list.get<std::vector<std::int64_t>>();
}

// Whether elements of so many bits in dimensions `shape` fill exactly so many bytes. As in the reference, what 64 bits
// can't count on the way is an error, also before a zero.
bool fills(const std::vector<std::int64_t>& shape, std::size_t bits, std::size_t bytes) {
    std::size_t product = 1;
    for (const std::int64_t size : shape)
        if (__builtin_mul_overflow(product, static_cast<std::size_t>(size), &product)) return false;
    return !__builtin_mul_overflow(product, bits, &product) && product % 8 == 0 && product / 8 == bytes;
}

// Whether torch can have it: beside a zero, too, it multiplies all dimensions.
bool fits_torch(const std::vector<std::int64_t>& shape) {
    std::size_t product = 1;
    for (const std::int64_t size : shape) {
        const auto factor = static_cast<std::size_t>(std::max<std::int64_t>(size, 1));
        if (product > most_elements / factor) return false;
        product *= factor;
    }
    return shape.size() <= most_dimensions;
}

}  // namespace

struct safetensors_file::header {
    std::string file;
    std::size_t data_size;  // bytes after the header
    std::map<std::string, entry> entries;

    entry read_entry(const std::string& name, const nlohmann::json& object) const {
        const std::string where = fmt::format("{}: tensor '{}'", file, name);
        if (!object.is_object()) refuse(where + " must be an object with dtype, shape and data_offsets");
        const json_reader reader(object, where);
        const std::string type = reader.text("dtype");
        const auto bits = find_bits(type);
        if (!bits) refuse(fmt::format("{} has dtype '{}', which safetensors does not have", where, type));
        const auto offsets = sizes(reader.at("data_offsets"), where + ": data_offsets");
        if (offsets.size() != 2 || offsets[0] > offsets[1]) refuse(where + ": data_offsets must be [begin, end]");
        entry result{type, sizes(reader.at("shape"), where + ": shape"), static_cast<std::size_t>(offsets[0]),
                     static_cast<std::size_t>(offsets[1])};
        if (result.end > data_size)
            refuse(fmt::format("{} ends at byte {} of {} bytes of data; the file is truncated", where, result.end,
                               data_size));
        if (!fills(result.shape, *bits, result.end - result.begin)) refuse(where + ": shape and data_offsets disagree");
        return result;
    }

    std::map<std::string, std::string> read_metadata(const nlohmann::json& object) const {
        std::map<std::string, std::string> result;
        if (object.is_null()) return result;
        if (!object.is_object()) refuse(file + ": __metadata__ must be an object of strings");
        for (const auto& [key, value] : object.items()) {
            if (!value.is_string()) refuse(fmt::format("{}: __metadata__.{} must be a string", file, key));
            result[key] = value.get<std::string>();
        }
        return result;
    }

    // In the order in which they lie, tensors follow each other without a gap, up to the end of the file.
    void refuse_gaps() const {
        std::vector<const std::pair<const std::string, entry>*> order;
        for (const auto& item : entries) order.push_back(&item);
        std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
            return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
        });
        std::size_t end = 0;
        const std::string* before = nullptr;
        for (const auto* item : order) {
            const auto& [name, at] = *item;
            if (at.begin < end) refuse(fmt::format("{}: tensors '{}' and '{}' overlap", file, *before, name));
            if (at.begin > end)
                refuse(fmt::format("{}: bytes {} to {} of the data, before tensor '{}', are no tensor's", file, end,
                                   at.begin, name));
            end = at.end;
            before = &name;
        }
        if (end != data_size)
            refuse(fmt::format("{}: {} bytes follow its last tensor; bring back the original file", file,
                               data_size - end));
    }
};

safetensors_file::safetensors_file(const std::filesystem::path& path) : path_(path) {
    auto file = map_file(path);
    mapped_ = true;
    read(std::move(file.bytes), file.size);
}

safetensors_file::safetensors_file(std::string_view bytes, const std::string& origin) : path_(origin) {
    // Never written to: tensors are views to be read.
    read({std::shared_ptr<void>(), const_cast<char*>(bytes.data())}, bytes.size());
}

void safetensors_file::read(std::shared_ptr<void> all, std::size_t size) {
    const auto& path = path_;
    if (size < prefix) refuse(fmt::format("{}: {} bytes are too few for a safetensors file", path.string(), size));
    mapping_ = std::move(all);
    size_ = size;
    const auto* bytes = static_cast<const unsigned char*>(mapping_.get());
    const std::uint64_t length = little_endian(bytes);
    if (length > size - prefix || length > longest_header)
        refuse(fmt::format("{}: its header of {} bytes is longer than the file or than {} bytes", path.string(), length,
                           longest_header));
    data_begin_ = prefix + static_cast<std::size_t>(length);
    const std::string_view text(reinterpret_cast<const char*>(bytes) + prefix, data_begin_ - prefix);
    if (text.starts_with("\xef\xbb\xbf")) refuse(path.string() + ": not valid JSON at byte 1");  // a byte-order mark
    const nlohmann::json json = parse_object(text, path.string());
    header reader{path.string(), size - data_begin_, {}};
    for (const auto& [name, value] : json.items())
        if (name == "__metadata__")
            metadata_ = reader.read_metadata(value);
        else
            reader.entries.emplace(name, reader.read_entry(name, value));
    reader.refuse_gaps();
    entries_ = std::move(reader.entries);
}

std::vector<std::string> safetensors_file::names() const {
    std::vector<std::string> result;
    for (const auto& [name, unused] : entries_) result.push_back(name);
    return result;
}

bool safetensors_file::contains(const std::string& name) const {
    return entries_.count(name) > 0;
}

at::Tensor safetensors_file::tensor(const std::string& name) const {
    const auto found = entries_.find(name);
    if (found == entries_.end()) refuse(fmt::format("{}: tensor '{}' is missing", path_.string(), name));
    const entry& e = found->second;
    const auto dtype = find_dtype(e.dtype);
    if (!dtype)
        refuse(
            fmt::format("{}: tensor '{}' has dtype '{}'; supported: {}", path_.string(), name, e.dtype, dtype_names()));
    if (!fits_torch(e.shape))
        refuse(fmt::format("{}: tensor '{}': shape has too many dimensions or elements", path_.string(), name));
    char* data = static_cast<char*>(mapping_.get()) + data_begin_ + e.begin;
    const auto options = at::TensorOptions().dtype(*dtype);
    if (e.begin == e.end) return at::empty(e.shape, options);
    if (reinterpret_cast<std::uintptr_t>(data) % c10::elementSize(*dtype) != 0) {
        // Old writers did not pad the header: such data can't be used where it lies.
        at::Tensor copy = at::empty(e.shape, options);
        std::memcpy(copy.data_ptr(), data, e.end - e.begin);
        return copy;
    }
    return at::from_blob(
        data, e.shape, [keep = mapping_](void*) {}, options);
}

safetensors_file::stored_bytes safetensors_file::bytes(const std::string& name) const {
    const entry& e = entries_.at(name);
    return {
        e.dtype, e.shape, {static_cast<const std::uint8_t*>(mapping_.get()) + data_begin_ + e.begin, e.end - e.begin}};
}

void safetensors_file::forget(const std::string& name) const {
    if (!mapped_) return;
    const entry& e = entries_.at(name);
    forget_pages(static_cast<char*>(mapping_.get()) + data_begin_ + e.begin, e.end - e.begin);
}

void save_safetensors(const std::filesystem::path& path, const std::map<std::string, at::Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
    std::map<std::string, tensor_form> forms;
    for (const auto& [name, tensor] : tensors)
        forms.emplace(name, tensor_form{tensor.scalar_type(), tensor.sizes().vec()});
    save_safetensors(
        path, forms, [&](const std::string& name) { return tensors.at(name); }, metadata);
}

void save_safetensors(const std::filesystem::path& path, const std::map<std::string, tensor_form>& forms,
                      const std::function<at::Tensor(const std::string&)>& load_tensor,
                      const std::map<std::string, std::string>& metadata) {
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    if (!metadata.empty()) header["__metadata__"] = metadata;
    std::size_t end = 0;
    for (const auto& [name, form] : forms) {
        const auto dtype = dtype_name(form.dtype);
        require(dtype.has_value(), "a tensor to be stored has no safetensors dtype");
        const std::size_t begin = end;
        end += static_cast<std::size_t>(c10::multiply_integers(form.shape)) * c10::elementSize(form.dtype);
        header[name] = {{"dtype", *dtype}, {"shape", form.shape}, {"data_offsets", {begin, end}}};
    }
    std::string bytes = header.dump();
    bytes.resize((bytes.size() + 7) / 8 * 8, ' ');  // the format aligns the data to 8 bytes
    const std::uint64_t length = bytes.size();
    std::string written(prefix, '\0');
    for (std::size_t i = 0; i < prefix; ++i) written[i] = static_cast<char>(length >> (8 * i) & 0xff);
    bytes.insert(0, written);
    write_in_parts(path, [&](const part_writer& write) {
        write(bytes);
        for (const auto& [name, form] : forms) {
            const at::Tensor data = load_tensor(name).detach().cpu().contiguous();
            require(data.scalar_type() == form.dtype && data.sizes() == at::IntArrayRef(form.shape),
                    "a tensor to be stored is not as it was said to be");
            write({static_cast<const char*>(data.data_ptr()), data.nbytes()});
        }
    });
}

}  // namespace rldp::models

#pragma once
// The safetensors format (huggingface/safetensors): an 8-byte little-endian header length, a JSON header, the data.
#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rldp::models {

// Elements. The types that safetensors has, and those of them that torch knows.

inline constexpr std::array<std::pair<std::string_view, c10::ScalarType>, 10> safetensors_dtypes{{
    {"F64", c10::ScalarType::Double},
    {"F32", c10::ScalarType::Float},
    {"F16", c10::ScalarType::Half},
    {"BF16", c10::ScalarType::BFloat16},
    {"I64", c10::ScalarType::Long},
    {"I32", c10::ScalarType::Int},
    {"I16", c10::ScalarType::Short},
    {"I8", c10::ScalarType::Char},
    {"U8", c10::ScalarType::Byte},
    {"BOOL", c10::ScalarType::Bool},
}};

/// The others, with their bits: a file may hold such tensors, as long as nobody asks for one.
inline constexpr std::array<std::pair<std::string_view, std::size_t>, 12> unread_dtypes{{
    {"U16", 16},
    {"U32", 32},
    {"U64", 64},
    {"C64", 64},
    {"F8_E5M2", 8},
    {"F8_E4M3", 8},
    {"F8_E8M0", 8},
    {"F8_E5M2FNUZ", 8},
    {"F8_E4M3FNUZ", 8},
    {"F6_E2M3", 6},
    {"F6_E3M2", 6},
    {"F4", 4},
}};

inline std::optional<c10::ScalarType> find_dtype(std::string_view name) {
    for (const auto& [known, dtype] : safetensors_dtypes)
        if (known == name) return dtype;
    return std::nullopt;
}

/// Of one element; nothing where safetensors has no such type.
inline std::optional<std::size_t> find_bits(std::string_view name) {
    if (const auto dtype = find_dtype(name)) return 8 * c10::elementSize(*dtype);
    for (const auto& [known, bits] : unread_dtypes)
        if (known == name) return bits;
    return std::nullopt;
}

inline std::optional<std::string_view> dtype_name(c10::ScalarType dtype) {
    for (const auto& [name, known] : safetensors_dtypes)
        if (known == dtype) return name;
    return std::nullopt;
}

inline std::string dtype_names() {
    std::string result;
    for (const auto& [name, unused] : safetensors_dtypes) result += (result.empty() ? "" : ", ") + std::string(name);
    return result;
}

/// Whether a tensor of floats on the CPU holds neither NaN nor infinity. One pass at the speed of memory, no temporary.
bool all_finite(const at::Tensor& numbers);

// Files. Mapped where they are read, written atomically.

/// A memory-mapped file. The header is validated against the file before a byte of data is used, as the reference
/// implementation does: length, JSON, dtypes, shapes, sizes that match, each byte of the data one tensor's. Duplicate
/// keys are refused besides. Errors: bad_input naming file and key.
class safetensors_file {
  public:
    explicit safetensors_file(const std::filesystem::path& path);
    /// The same of bytes in memory, which outlive all views; `origin` names them in messages.
    safetensors_file(std::string_view bytes, const std::string& origin);

    std::vector<std::string> names() const;
    bool contains(const std::string& name) const;
    /// A view into the mapping (no copy), CPU, in the stored dtype; the mapping lives as long as any view. Read only.
    /// Errors: bad_input for a dtype or a shape that torch lacks.
    at::Tensor tensor(const std::string& name) const;
    /// What lies there, whatever its type; its bytes at any alignment, for as long as this lives.
    struct stored_bytes {
        std::string_view dtype;
        std::vector<std::int64_t> shape;
        std::span<const std::uint8_t> bytes;
    };
    stored_bytes bytes(const std::string& name) const;
    /// Gives back the memory in which this process keeps what it read of a tensor; what is read again comes from the
    /// file.
    void forget(const std::string& name) const;
    const std::map<std::string, std::string>& metadata() const { return metadata_; }

  private:
    struct entry {
        std::string dtype;
        std::vector<std::int64_t> shape;
        std::size_t begin, end;
    };
    struct header;  // reads the JSON

    void read(std::shared_ptr<void> bytes, std::size_t size);

    std::filesystem::path path_;
    std::shared_ptr<void> mapping_;
    std::size_t size_ = 0, data_begin_ = 0;
    bool mapped_ = false;
    std::map<std::string, entry> entries_;
    std::map<std::string, std::string> metadata_;
};

/// What a file says of a tensor before it comes.
struct tensor_form {
    at::ScalarType dtype;
    std::vector<std::int64_t> shape;
};

/// Writes tensors (any device, made contiguous) atomically, each asked for when it is its turn.
void save_safetensors(const std::filesystem::path& path, const std::map<std::string, tensor_form>& forms,
                      const std::function<at::Tensor(const std::string& name)>& load_tensor,
                      const std::map<std::string, std::string>& metadata = {});
/// The same of tensors that are there.
void save_safetensors(const std::filesystem::path& path, const std::map<std::string, at::Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace rldp::models

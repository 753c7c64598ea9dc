#pragma once
// The GGUF format (ggml's gguf.md), versions 2 and 3: metadata, names and places of tensors, the tensors' blocks.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/quantized/quantized_tensor.hpp"

namespace rldp::models {

/// What a directory's place may be taken by: a file whose name ends in ".gguf".
bool is_gguf(const std::filesystem::path& path);

/// Of one tensor what the header says.
struct gguf_tensor {
    block_type type;
    std::vector<std::int64_t> shape;  ///< as Hugging Face writes it: what lies side by side comes last
    std::size_t begin, end;           ///< bytes of the file
};

/// A memory-mapped file. The header is checked against the file before a byte of data is used: its version, counts,
/// types, names that come twice, tensors that fill their blocks, places that are aligned, whole and one behind the
/// other. Errors: bad_input naming file and key or tensor, here and below.
class gguf_file {
  public:
    explicit gguf_file(const std::filesystem::path& path);

    // Metadata. A list of equal numbers is taken for one number: some writers repeat it for each layer.

    bool has(const std::string& key) const { return values_.contains(key); }
    /// Integer in [low, high]; without `missing` the key is required.
    std::int64_t integer(const std::string& key, std::int64_t low, std::int64_t high) const;
    std::int64_t integer(const std::string& key, std::int64_t low, std::int64_t high, std::int64_t missing) const;
    /// Number in [low, high]; of a float32 the shortest decimal that is rounded to it, which is what was meant.
    double number(const std::string& key, double low, double high) const;
    double number(const std::string& key, double low, double high, double missing) const;
    bool boolean(const std::string& key, bool missing) const;
    std::string text(const std::string& key) const;
    std::string text(const std::string& key, const std::string& missing) const;
    /// Lists; the texts live as long as this object.
    std::size_t count(const std::string& key) const;
    bool is_list(const std::string& key) const;
    std::vector<std::string_view> texts(const std::string& key) const;
    std::vector<std::int64_t> integers(const std::string& key) const;
    std::vector<float> numbers(const std::string& key) const;

    // Tensors.

    const std::map<std::string, gguf_tensor>& tensors() const { return tensors_; }
    /// As it lies, no copy; all dimensions but the last are rows.
    quantized_tensor tensor(const std::string& name) const;
    /// Gives back the memory in which this process keeps what it read of a tensor.
    void forget(const std::string& name) const;

    /// The file's path, for messages.
    const std::string& origin() const { return origin_; }
    [[noreturn]] void refuse_key(const std::string& key, const std::string& what) const;

  private:
    struct value {
        std::uint32_t kind, element = 0;  ///< gguf_metadata_value_type; of a list, of its elements, too
        std::size_t count = 1;
        std::string_view bytes = {};  ///< where it lies; of a text without its length
    };
    class header_reader;

    const value& at(const std::string& key) const;
    const value& list_at(const std::string& key) const;
    std::optional<std::int64_t> to_integer(const value& of) const;

    std::string origin_;
    std::shared_ptr<const void> mapping_;
    std::string_view bytes_;
    std::map<std::string, value, std::less<>> values_;
    std::map<std::string, gguf_tensor> tensors_;
};

}  // namespace rldp::models

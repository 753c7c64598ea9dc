#pragma once
// The safetensors format (huggingface/safetensors): an 8-byte little-endian header length, a JSON header, the data.
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rldp::models {

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

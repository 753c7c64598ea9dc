#pragma once
// Makes small GGUF files, right and wrong ones.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rldp::testing {

class gguf_writer {
  public:
    // What a wrong file says otherwise than it is.
    std::string magic = "GGUF";
    std::uint32_t version = 3;
    std::int64_t more_values = 0, more_tensors = 0;  ///< that the counts promise
    std::uint64_t alignment = 32;                    ///< of the data; say general.alignment, too, where it is another
    std::uint64_t added_to_offsets = 0;              ///< from the second tensor on

    void add(const std::string& key, std::uint32_t value) { put(key, 4, bytes_of(value)); }
    void add(const std::string& key, std::int32_t value) { put(key, 5, bytes_of(value)); }
    void add(const std::string& key, float value) { put(key, 6, bytes_of(value)); }
    void add(const std::string& key, bool value) { put(key, 7, std::string(1, value ? '\1' : '\0')); }
    void add(const std::string& key, const std::string& value) { put(key, 8, text(value)); }
    void add(const std::string& key, const char* value) { add(key, std::string(value)); }
    void add(const std::string& key, const std::vector<std::string>& values) {
        std::string all;
        for (const auto& value : values) all += text(value);
        put(key, 9, bytes_of(std::uint32_t{8}) + bytes_of(std::uint64_t{values.size()}) + all);
    }
    void add(const std::string& key, const std::vector<float>& values) { put(key, 9, list(6, values)); }
    void add(const std::string& key, const std::vector<std::int32_t>& values) { put(key, 9, list(5, values)); }
    /// Of any kind, its bytes as they stand in the file.
    void put(const std::string& key, std::uint32_t kind, const std::string& bytes) {
        for (auto& [name, value] : values_)
            if (name == key) return static_cast<void>(value = bytes_of(kind) + bytes);
        values_.emplace_back(key, bytes_of(kind) + bytes);
    }
    /// A second value of the same key.
    void repeat(const std::string& key) {
        for (const auto& [name, value] : std::vector(values_))
            if (name == key) values_.emplace_back(name, value);
    }
    void remove(const std::string& key) {
        std::erase_if(values_, [&](const auto& one) { return one.first == key; });
    }

    /// `shape` as Hugging Face writes it; `type` as ggml counts.
    void tensor(const std::string& name, std::vector<std::uint64_t> shape, std::uint32_t type, std::string bytes) {
        tensors_.push_back({name, std::move(shape), type, std::move(bytes)});
    }
    void tensor(const std::string& name, std::vector<std::uint64_t> shape, const std::vector<float>& numbers) {
        tensor(name, std::move(shape), 0,
               std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)));
    }
    void remove_tensor(const std::string& name) {
        std::erase_if(tensors_, [&](const auto& one) { return one.name == name; });
    }

    std::string bytes() const {
        auto out =
            magic + bytes_of(version) + count(tensors_.size(), more_tensors) + count(values_.size(), more_values);
        for (const auto& [key, value] : values_) out += text(key) + value;
        std::uint64_t offset = 0;
        std::string data;
        for (const auto& one : tensors_) {
            out += text(one.name) + bytes_of(static_cast<std::uint32_t>(one.shape.size()));
            const std::vector<std::uint64_t> outwards(one.shape.rbegin(), one.shape.rend());
            for (const auto size : outwards) out += bytes_of(size);
            out += bytes_of(one.type) + bytes_of(offset + (offset > 0 ? added_to_offsets : 0));
            data += one.bytes;
            data.resize((data.size() + alignment - 1) / alignment * alignment);
            offset = data.size();
        }
        out.resize((out.size() + alignment - 1) / alignment * alignment);
        return out + data;
    }

    template <class Number>
    static std::string bytes_of(Number number) {
        std::string out(sizeof number, '\0');
        std::memcpy(out.data(), &number, sizeof number);
        return out;
    }
    static std::string text(std::string_view value) {
        return bytes_of(std::uint64_t{value.size()}) + std::string(value);
    }

  private:
    struct named_tensor {
        std::string name;
        std::vector<std::uint64_t> shape;
        std::uint32_t type;
        std::string bytes;
    };

    static std::string count(std::size_t there, std::int64_t more) {
        return bytes_of(static_cast<std::uint64_t>(there) + static_cast<std::uint64_t>(more));
    }
    template <class Number>
    static std::string list(std::uint32_t element, const std::vector<Number>& values) {
        std::string out = bytes_of(element) + bytes_of(std::uint64_t{values.size()});
        for (const auto value : values) out += bytes_of(value);
        return out;
    }

    std::vector<std::pair<std::string, std::string>> values_;
    std::vector<named_tensor> tensors_;
};

}  // namespace rldp::testing

#pragma once
// What GGUF's header is made of, and steps through it that never leave the file. Internal to models/gguf.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "models/quantized/formats.hpp"

namespace rldp::models {

/// gguf_metadata_value_type
enum class gguf_kind : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, list, u64, i64, f64 };

/// Bytes that are read from front to back.
class gguf_bytes {
  public:
    gguf_bytes(std::string_view all, const std::string& origin) : all_(all), origin_(origin) {}

    /// So many of them. Errors: bad_input, naming `what` is read, where they end before; here and below.
    std::string_view take(std::uint64_t count, const std::string& what) {
        if (count > all_.size() - at_)
            refuse(origin_ + ": ends at byte " + std::to_string(all_.size()) + " within " + what +
                   "; the file is truncated or damaged, bring back the original");
        const auto out = all_.substr(at_, static_cast<std::size_t>(count));
        at_ += out.size();
        return out;
    }
    template <class Number>
    Number number(const std::string& what) {
        Number out;
        std::memcpy(&out, take(sizeof out, what).data(), sizeof out);
        return out;
    }
    /// Behind its length in 64 bits.
    std::string_view text(const std::string& what) { return take(number<std::uint64_t>(what), what); }
    /// So many values of a kind, which is no list.
    std::string_view list(gguf_kind kind, std::uint64_t count, const std::string& what);
    std::size_t position() const { return at_; }
    const std::string& origin() const { return origin_; }

  private:
    std::string_view all_;
    const std::string& origin_;
    std::size_t at_ = 0;
};

struct gguf_counts {
    std::uint64_t tensors, values;
};

/// Up to the metadata. Errors: bad_input for another magic number, a version that is not read, big-endian files.
gguf_counts read_gguf_beginning(gguf_bytes& bytes);

/// The format of a ggml_type. Errors: bad_input naming `where` and the type for one that is not read.
block_type find_ggml_type(std::uint32_t type, const std::string& where);

}  // namespace rldp::models

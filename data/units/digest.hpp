#pragma once
// What training units amount to, in 32 bytes.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace rldp::data {

using text_digest = std::array<unsigned char, 32>;

/// BLAKE2b of one record's text.
text_digest compute_digest(std::string_view text);

/// SHA-256 over units in their order: the number of each one's records, then the digests of their texts. Records can so
/// be digested in any order, by several threads.
class units_digest {
  public:
    units_digest();
    ~units_digest();
    units_digest(const units_digest&) = delete;
    units_digest& operator=(const units_digest&) = delete;

    void add_unit(std::size_t records);
    void add_record(const text_digest& text);
    /// In hex.
    std::string finish();

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace rldp::data

#pragma once
// AES-256 in counter mode as a stream of secret random bytes (libgcrypt).
#include <cstdint>
#include <memory>
#include <span>

struct gcry_cipher_handle;

namespace rldp::privacy {

/// The key stream of one key. A key is for one stream, so the counter begins at zero. The 2³¹ blocks that a thousand
/// million normals take can be told from random ones, which repeat now and then, with an advantage of 2⁻⁶⁷ at most. The
/// expanded key lies in libgcrypt's locked memory, as far as that goes, and is zeroed at the end.
class key_stream {
  public:
    static constexpr std::size_t block = 16;  ///< bytes

    /// Errors: failed where there is no memory for keys.
    explicit key_stream(std::span<const unsigned char, 32> key);

    /// The next bytes. `out` is a whole number of blocks.
    void read(std::span<unsigned char> out);
    /// On from the block of this index.
    void seek(std::uint64_t index);

  private:
    struct closer {
        void operator()(gcry_cipher_handle* cipher) const;
    };
    std::unique_ptr<gcry_cipher_handle, closer> cipher_;
};

}  // namespace rldp::privacy

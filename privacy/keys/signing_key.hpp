#pragma once
// The Ed25519 keys that sign certificates (docs/privacy.md §10). A file holds one line: the word
// "rldp-ed25519-secret" or "rldp-ed25519-public", a space, and 64 hexadecimal characters (the seed of RFC 8032, the
// public key).
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace rldp::privacy {

/// The half that anyone may have: tells whether a signature is its owner's.
class verifying_key {
  public:
    /// Errors: bad_input where the file is none, or is the secret half.
    static verifying_key load(const std::filesystem::path& path);
    /// Errors: bad_input unless `hex` is 64 lower-case hexadecimal characters.
    static verifying_key from_hex(std::string_view hex);

    std::string hex() const;
    /// For people to compare: the first 128 bits of the key's SHA-256, in eight groups of four characters.
    std::string fingerprint() const;
    /// `signature` in hex. False for anything that is no signature of `message` by this key.
    bool accepts(std::string_view message, std::string_view signature) const;
    bool operator==(const verifying_key&) const = default;

  private:
    friend class signing_key;
    std::array<unsigned char, 32> bytes_{};
};

/// Gives locked memory of libsodium's back, erased.
struct locked_memory {
    void operator()(void* bytes) const;
};

/// The secret half, in memory that is locked and erased.
class signing_key {
  public:
    /// A new pair: the secret at `path` (mode 0600), the public half at `path`.pub. Errors: bad_input where one of them
    /// exists, the directory does not, or it lies in a run directory.
    static signing_key create(const std::filesystem::path& path);
    /// Errors: bad_input where others than the owner may read the file, it lies in a run directory, or holds no key.
    static signing_key load(const std::filesystem::path& path);

    const verifying_key& public_half() const { return public_half_; }
    std::string sign(std::string_view message) const;  ///< 128 hexadecimal characters

  private:
    signing_key() = default;
    std::unique_ptr<unsigned char, locked_memory> secret_;  ///< libsodium's 64 bytes: seed and public key
    verifying_key public_half_;
};

}  // namespace rldp::privacy

#pragma once
// Secret randomness: independent ChaCha20 streams under one run key (privacy contract §6).
#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace rldp::privacy {

/// 32 secret bytes that key every draw, dropout mask and noise stream of a run. Erased from memory on destruction.
class run_key {
  public:
    static run_key from_system();                          ///< the operating system's generator (libsodium)
    static run_key insecure_from_seed(std::int64_t seed);  ///< reproducible, no guarantee: tests only
    static run_key load(const std::filesystem::path& path);
    void save(const std::filesystem::path& path) const;  ///< mode 0600, atomic
    ~run_key();
    run_key(const run_key&) = default;
    run_key& operator=(const run_key&) = default;

    /// HMAC-SHA-256 of `message` under a subkey of its own, in hex: how data is named in public files.
    std::string hmac(std::string_view message) const;

  private:
    run_key() = default;
    friend class random_stream;
    std::array<unsigned char, 32> bytes_{};
};

enum class purpose : std::uint32_t { draw = 1, dropout = 2, noise = 3, audit = 4 };

/// The ChaCha20 key stream of (run key, purpose, ledger seq, tensor): the same four give the same numbers, any other
/// four independent ones. Never make the same noise stream twice for different dials.
class random_stream {
  public:
    random_stream(const run_key& key, purpose why, std::uint64_t seq, std::uint64_t tensor);
    ~random_stream();
    random_stream(const random_stream&) = delete;  // a copy would hand out the same noise again
    random_stream& operator=(const random_stream&) = delete;

    std::uint64_t next();                      ///< uniform 64-bit word
    void words(std::span<std::uint64_t> out);  ///< many of them, fast
    /// Standard normals: each the sum of four normals made from 53-bit uniforms, halved (Holohan and Braghin 2021).
    /// Every call starts at a fresh block of 128; calls of multiples of 128 give what one long call gives.
    void normals(std::span<double> out);
    /// 0 with probability `p`, else 1/(1-p): inverted dropout. Resolution 2⁻¹⁶.
    void dropout(std::span<float> out, double p);

  private:
    void keystream(std::uint64_t* out, std::size_t blocks);  ///< the next blocks of 512 words
    std::array<unsigned char, 32> subkey_{};
    std::uint64_t block_ = 0;  ///< ChaCha20 blocks of 64 bytes used so far
    std::array<std::uint64_t, 512> buffer_{};
    std::size_t used_ = 512;
};

}  // namespace rldp::privacy

#pragma once
// Secret randomness: independent AES-256 streams under one run key (docs/privacy.md §6).
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "privacy/keys/secrets.hpp"

struct gcry_cipher_handle;

namespace rldp::privacy {

// Key stream. AES-256 in counter mode as a stream of secret random bytes (libgcrypt).

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

// Run key. The secret of a run, and what is drawn under it.

class meeting;

/// The secret of a run, and the key of every draw, dropout mask and noise stream of this process. In locked memory;
/// copies share it.
class run_key {
  public:
    static run_key from_system();  ///< the operating system's generator (libsodium)
    /// From `save`d bytes. The streams' key is new: a run directory may have been copied, and two processes that go on
    /// from one state must not share draws or noise (docs/privacy.md §5).
    static run_key load(const std::filesystem::path& path);
    static run_key insecure_from_seed(std::int64_t seed);  ///< reproducible, no guarantee: tests only
    /// With the streams of the run that saved it, where noise.insecure_reproducible asks for them.
    static run_key load_insecure(const std::filesystem::path& path);
    void save(const std::filesystem::path& path) const;  ///< mode 0600, atomic

    /// For the other ranks of the run, with this process's streams, and from them.
    std::string seal(const meeting& with, std::size_t rank, std::uint64_t count) const;
    static std::optional<run_key> open(const meeting& with, std::string_view sealed, std::size_t rank,
                                       std::uint64_t count);

    /// HMAC-SHA-256 of `message` under a subkey of its own, in hex: how data is named in public files. The same in
    /// every process of the run.
    std::string hmac(std::string_view message) const;

  private:
    friend class random_stream;
    friend class unit_groups;
    struct secret {
        std::array<unsigned char, 32> bytes;    ///< the run's
        std::array<unsigned char, 32> streams;  ///< this process's
    };
    explicit run_key(locked_ptr<secret> inside) : inside_(std::move(inside)) {}
    static locked_ptr<secret> read(const std::filesystem::path& path);
    static run_key with_fresh_streams(locked_ptr<secret> inside);
    std::shared_ptr<const secret> inside_;
};

enum class purpose : std::uint32_t {
    draw = 1,
    dropout = 2,
    noise = 3,
    audit = 4,
    mask = 5,
    tag = 6,
    share = 7,
    look = 8,
    group = 9,
    counts = 10,
    rows = 11
};

/// The key stream of (run key, purpose, ledger seq, tensor): in one process the same four give the same
/// numbers, any other four independent ones. Never make the same noise stream twice for different actions.
class random_stream {
  public:
    random_stream(const run_key& key, purpose why, std::uint64_t seq, std::uint64_t tensor);
    /// The same under a key that is no run's.
    random_stream(std::span<const unsigned char, 32> key, purpose why, std::uint64_t seq, std::uint64_t tensor);
    random_stream(const random_stream&) = delete;  // a copy would hand out the same noise again
    random_stream& operator=(const random_stream&) = delete;

    std::uint64_t next();                      ///< uniform 64-bit word
    void words(std::span<std::uint64_t> out);  ///< many of them, fast
    /// Standard normals: each the sum of four normals made from 53-bit uniforms, halved (Holohan and Braghin 2021).
    /// Every call starts at a fresh block of 128; calls of multiples of 128 give what one long call gives.
    void normals(std::span<double> out);
    /// The next normals are what one long call gives from this one on, a multiple of 128.
    void seek_normal(std::uint64_t which);

  private:
    static constexpr std::size_t buffered = 512;  ///< words
    struct words_ahead {
        alignas(64) std::array<std::uint64_t, buffered> words;
    };
    key_stream stream_;
    locked_ptr<words_ahead> buffer_ = make_locked<words_ahead>();
    std::size_t used_ = buffered;
};

/// 128 bits for each record of step `seq`, from (run key, dropout, seq) and the record's tokens alone. So a unit's
/// masks depend on nothing but the unit, and the bound holds for every key of them, secret or not (docs/privacy.md §6).
class record_seeds {
  public:
    record_seeds(const run_key& key, std::uint64_t seq);
    std::array<std::uint64_t, 2> operator()(std::span<const std::int32_t> tokens) const;

  private:
    locked_ptr<std::array<std::uint64_t, 4>> key_ = make_locked<std::array<std::uint64_t, 4>>();
};

/// Which of several ranks computes a unit: by the run key and the unit's records alone, so that one more unit moves no
/// other to another machine, whose last bits may differ (docs/privacy.md §6).
class unit_shares {
  public:
    explicit unit_shares(const run_key& key);
    std::size_t assign_rank(std::span<const std::span<const std::int32_t>> records, std::size_t ranks) const;

  private:
    locked_ptr<std::array<std::uint64_t, 4>> key_ = make_locked<std::array<std::uint64_t, 4>>();
};

/// Which of several groups a unit is in, whose steps alone may draw it (docs/privacy.md §14): by the run key and the
/// unit's own identity, so that one more unit moves no other. By the run's key, not the process's: a unit that changed
/// its group at a restart could take part twice in a round.
class unit_groups {
  public:
    /// Errors: failed for a number of groups outside [1, 65536].
    unit_groups(const run_key& key, std::int64_t groups);
    /// `kind` keeps identities of different kinds apart.
    std::uint16_t find(std::string_view kind, std::uint64_t identity) const;

  private:
    locked_ptr<std::array<std::uint64_t, 4>> key_ = make_locked<std::array<std::uint64_t, 4>>();
    std::uint64_t groups_;
};

}  // namespace rldp::privacy

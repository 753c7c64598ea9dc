#pragma once
// What the ranks of a run have in common and nobody else: a 32-byte secret, and from it, anew for every meeting, the
// keys of what they tell each other (docs/cluster.md). A file holds one line: the word "rldp-cluster-secret", a space,
// and 64 hexadecimal characters.
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "privacy/keys/secrets.hpp"

namespace rldp::privacy {

class cluster_secret {
  public:
    static constexpr std::size_t bytes = 32;

    static cluster_secret from_system();
    /// Errors: bad_input where others than the owner may read the file, it lies in a run directory, or holds no secret.
    static cluster_secret load(const std::filesystem::path& path);
    /// What `share` wrote to the other end of that pipe, which is closed. Errors: failed where it holds less.
    static cluster_secret receive(int descriptor);
    /// Mode 0600. Errors: bad_input where the file exists, the directory does not, or it lies in a run directory.
    void save(const std::filesystem::path& path) const;
    void share(int descriptor) const;

    /// That who says so knows the secret: a tag (keyed BLAKE2b) of what it says. To be new, it must hold random bytes
    /// of who is to believe it.
    static constexpr std::size_t proof_bytes = 32;
    std::string proof(std::string_view said) const;
    bool proves(std::string_view proof, std::string_view said) const;

  private:
    friend class meeting;
    using key = std::array<unsigned char, bytes>;
    explicit cluster_secret(locked_ptr<key> inside) : inside_(std::move(inside)) {}
    std::shared_ptr<const key> inside_;
};

/// The keys of one meeting of ranks. They depend on the secret and on a nonce of every rank, so what was said at one
/// meeting is not understood at another, and no mask is used twice.
class meeting {
  public:
    static constexpr std::size_t nonce_bytes = 32, overhead = 40;  ///< of a sealed message: nonce and tag

    static std::array<unsigned char, nonce_bytes> nonce();
    /// `nonces`: of all ranks, in their order, nonce_bytes each.
    meeting(const cluster_secret& secret, std::string_view nonces);

    /// `said` by `rank`, as its `count`th message at this meeting (XSalsa20-Poly1305): another rank's, or another
    /// turn's, does not open.
    std::string seal(std::string_view said, std::size_t rank, std::uint64_t count) const;
    std::optional<std::string> open(std::string_view sealed, std::size_t rank, std::uint64_t count) const;
    /// The same between places in memory: `sealed` is longer by `overhead`. `from` tells senders apart; ranks are below
    /// 2¹⁶.
    void seal_into(std::span<char> sealed, std::span<const char> said, std::uint64_t from, std::uint64_t count) const;
    bool open_into(std::span<char> said, std::span<const char> sealed, std::uint64_t from, std::uint64_t count) const;

    /// Adds to `numbers`, modulo 2⁶⁴, what makes them look uniform: PRF(seq, rank) − PRF(seq, rank + 1). The sum over
    /// any ranks keeps a mask, also that over all of them: a sum that others than rank 0 made would tell nothing. Once
    /// per seq.
    void mask(std::span<std::int64_t> numbers, std::uint64_t seq, std::size_t rank) const;
    /// Takes from the sum over all ranks what is left: PRF(seq, 0) − PRF(seq, ranks).
    void unmask(std::span<std::int64_t> sum, std::uint64_t seq, std::size_t ranks) const;

    /// A tag of numbers below 2⁶⁰ in size that adds up as they do: Σ numbers[j]·k^(j+1) mod 2⁶¹ − 1 under a key k of
    /// this seq (Carter and Wegman 1981; two vectors that differ have the same tag with probability length/2⁶¹). To be
    /// told sealed.
    std::uint64_t tag(std::span<const std::int64_t> numbers, std::uint64_t seq) const;
    static std::uint64_t add_tags(std::uint64_t a, std::uint64_t b);

  private:
    void add_stream(std::span<std::int64_t> numbers, std::uint64_t seq, std::size_t which, bool positive) const;
    locked_ptr<cluster_secret::key> key_;
};

}  // namespace rldp::privacy

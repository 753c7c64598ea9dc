#pragma once
// Whether a file under trusted/ that is read back is what its run wrote there: a flipped bit, a file of another run and
// an edit are told from it (docs/privacy.md §5).
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "privacy/keys/random.hpp"

namespace rldp::privacy {

/// The key of a run's seals. It is derived one way from the run key and tells nothing of draws or noise, so the public
/// side, which writes checkpoints, may hold it.
class file_seal {
  public:
    static constexpr std::size_t bytes = 16;  ///< of a tag: 128 bits
    using tag = std::array<unsigned char, bytes>;

    explicit file_seal(const run_key& key);
    /// One that anybody can make who knows what a file depends on: it tells damage, and a file that depends on other
    /// things, but no edit. For public values only.
    static file_seal checksum(std::string_view depends_on);

    /// The tag of a sequence of parts, whose lengths count: keyed BLAKE2b.
    class stream {
      public:
        /// `kind` of file or record: a tag of one kind is none of another.
        stream(const file_seal& by, std::string_view kind);
        ~stream();
        stream(stream&&) noexcept;
        stream& add(std::string_view part);
        tag finish();
        std::string hex();  ///< finish() as 32 characters

      private:
        struct state;
        std::unique_ptr<state> state_;
    };

    tag operator()(std::string_view kind, std::string_view whole) const {
        return stream(*this, kind).add(whole).finish();
    }

  private:
    explicit file_seal(std::string key) : key_(std::move(key)) {}
    std::string key_;  ///< 64 hexadecimal characters
};

}  // namespace rldp::privacy

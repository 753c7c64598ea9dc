#pragma once
// The ranks of a run that know each other's secret. Whatever they say is sealed, sums travel masked, and a byte that
// was changed on the way is an error (docs/cluster.md).
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "privacy/keys/cluster_secret.hpp"
#include "privacy/keys/random.hpp"
#include "privacy/mechanism/reducer.hpp"
#include "run/ranks/lending.hpp"
#include "run/ranks/rendezvous.hpp"
#include "run/ranks/wire.hpp"

namespace rldp::ranks {

/// As wire: all ranks make the same calls in the same order, and errors are failed. Not safe to call from two threads
/// at a time.
class team final : public privacy::reducer {
  public:
    /// Meets the others. Errors: as wire.
    team(const place& where, const privacy::cluster_secret& secret, std::chrono::seconds timeout,
         const on_silence& silent);

    std::size_t rank() const { return where_.rank; }
    std::size_t ranks() const { return where_.ranks; }

    /// What rank 0 says; on other ranks `said` is not looked at.
    std::string broadcast(const std::string& said = {});
    /// What everybody says, in the order of ranks.
    std::vector<std::string> exchange(const std::string& said);
    /// Everybody must say the same of each, name by name. Errors: bad_input, naming what differs and where.
    void agree(const std::vector<std::pair<std::string, std::string>>& facts);
    /// Rank 0's key, with the streams of its process.
    privacy::run_key share(const std::optional<privacy::run_key>& key);
    void reduce(std::uint64_t seq, std::span<std::int64_t> numbers) override;
    /// Connects any two ranks, once: each lends what `shelf` has, from then on and whatever it computes. Errors: as
    /// meet_each.
    std::shared_ptr<lending> lend(lending::shelf shelf);
    /// As wire::leave.
    void leave() { wire_.leave(); }

  private:
    std::string understood(std::string_view sealed, std::size_t rank) const;

    std::vector<doorstep> tell_port(std::uint16_t port);

    place where_;
    privacy::cluster_secret secret_;
    wire wire_;
    std::shared_ptr<const privacy::meeting> meeting_;
    std::uint64_t count_ = 0;  ///< collectives so far
};

}  // namespace rldp::ranks

#pragma once
// Sees everything that a run's processes did to its files, remembers it, and objects to what must never happen
// (docs/privacy.md §5). It reads journals and files by itself: what the program thinks of them does not count.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/faults/ground.hpp"

namespace rldp::testing {

class witness {
  public:
    explicit witness(yard where) : where_(std::move(where)) {}

    /// What a process did, from the state that the last look saw: each release after its charge is safe, no seq with
    /// two contents, no step shown before its release is safe.
    void saw(const std::vector<event>& journal);
    /// The ledger between processes: it only ever grows.
    void look();
    /// The same after a power cut, which may take what was not safe. No release may be without its charge.
    void look_after_cut();
    /// The same after damage to files that is for the program to find.
    void take_as_it_is();
    /// What a run that is over must have left, and must not.
    void complete(const reference& whole);
    /// What must be gone once a command has seen a run that is over, or a start that was cut.
    void look_for_leftovers();

    bool begun() const;     ///< there is a ledger in its place
    bool finished() const;  ///< the key is erased
    bool over() const;      ///< and the certificate, which comes last, is there
    std::size_t releases() const { return safe_releases_.size(); }
    void object(const std::string& symptom);
    const std::vector<std::string>& objections() const { return objections_; }

  private:
    void saw_release(const std::string& bytes);
    void saw_metrics(const std::string& bytes);
    std::size_t charges(const std::string& ledger) const;
    void compare_ledgers(bool may_shrink);
    void compare_steps(const reference& whole);

    yard where_;
    std::string ledger_, safe_ledger_;
    bool erased_ = false;  ///< the key, by a process
    std::string release_;  ///< of which only the beginning was written
    std::map<std::uint64_t, std::string> releases_;
    std::set<std::uint64_t> safe_releases_;
    std::map<std::int64_t, std::string> shown_;  ///< released loss by step
    std::vector<std::string> objections_;
};

}  // namespace rldp::testing

#pragma once
// What a ledger's lines say, and the proof that they stand in one.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "privacy/keys/digest.hpp"

namespace rldp::privacy {

/// What a step's line says.
struct ledger_line {
    std::uint64_t seq;  ///< 1, 2, …
    std::int64_t step;
    double noise_multiplier, sample_rate;
    std::optional<std::size_t> card;
    std::string prev, hash;  ///< hex SHA-256; hash is over the line's canonical JSON without `hash`
};

/// What a look's line says.
struct look_line {
    std::int64_t look;  ///< 1, 2, …
    std::int64_t step;  ///< whose adapter is looked at with
    double noise_multiplier;
    std::string prev, hash;
};

/// Proof that a look was charged, as a `charge` is of a step. It is never redone (docs/privacy.md §13).
class look_charge {
  public:
    const look_line* operator->() const { return line_.get(); }

  private:
    friend class ledger;
    friend class ledger_copy;
    explicit look_charge(look_line line) : line_(std::make_shared<const look_line>(std::move(line))) {}
    std::shared_ptr<const look_line> line_;
};

/// Proof that a step was charged: a line that stands in a ledger on disk. Only a ledger makes one, and without one
/// there is no step order and no release.
class charge {
  public:
    const ledger_line* operator->() const { return line_.get(); }

  private:
    friend class ledger;
    friend class ledger_copy;
    friend class charge_list;
    friend std::string format_charge(const charge& charged);
    explicit charge(ledger_line line, std::vector<look_line> before = {})
        : line_(std::make_shared<const ledger_line>(std::move(line))),
          before_(std::make_shared<const std::vector<look_line>>(std::move(before))) {}
    std::shared_ptr<const ledger_line> line_;
    std::shared_ptr<const std::vector<look_line>> before_;  ///< looks between it and the charge before; of a new one
};

/// The charges of a ledger, seq 1 first, in some hundred bytes each, for there is one per step: whoever asks for one
/// gets it made anew, without the looks before it.
class charge_list {
  public:
    /// A line's numbers.
    struct numbers {
        std::int64_t step;
        double noise_multiplier, sample_rate;
        std::optional<std::uint32_t> card;
        sha256_bytes prev, hash;
    };
    /// The next one. Errors: failed for another seq.
    void push_back(const charge& next);

    std::size_t size() const { return kept_.size(); }
    bool empty() const { return kept_.empty(); }
    /// Of seq i + 1.
    const numbers& at(std::size_t i) const { return kept_.at(i); }
    charge operator[](std::size_t i) const;
    charge back() const { return (*this)[size() - 1]; }

    class iterator {
      public:
        iterator(const charge_list& of, std::size_t at) : of_(&of), at_(at) {}
        charge operator*() const { return (*of_)[at_]; }
        iterator& operator++() {
            ++at_;
            return *this;
        }
        bool operator==(const iterator&) const = default;

      private:
        const charge_list* of_;
        std::size_t at_;
    };
    iterator begin() const { return {*this, 0}; }
    iterator end() const { return {*this, size()}; }

  private:
    std::deque<numbers> kept_;  // never moved: no second copy while it grows
};

}  // namespace rldp::privacy

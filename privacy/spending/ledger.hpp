#pragma once
// The public, append-only, hash-chained record of what was charged (docs/privacy.md §5).
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/base/append_file.hpp"
#include "config/base/guarantee.hpp"
#include "config/base/publication.hpp"
#include "privacy/accounting/accountant.hpp"
#include "privacy/spending/looks.hpp"
#include "privacy/spending/policy.hpp"

namespace rldp::privacy {

struct ledger_header {
    static constexpr int current_version = 3, oldest_version = 2;
    int version = current_version;
    double delta = 0;            ///< of the contract: what the mechanism composes to and `padding_delta` together
    double padding_delta = 0;    ///< part of δ that pays for draws beyond the room of privacy.pad_batches; 0 without
    double rounding_margin = 0;  ///< η: sensitivities are charged as C·(1 + η)
    double sample_rate = 0;
    std::int64_t population = 0, steps = 0;
    std::string policy, accountant, unit, split;
    rldp::semantics semantics = rldp::semantics::sound;
    std::vector<card> deck;
    double epsilon = 0;             ///< the budget asked for
    double guaranteed_epsilon = 0;  ///< what the policy commits to; "inf" in JSON where infinite
    std::string data_hmac;          ///< of the training data under the run key
    bool insecure_reproducible = false;
    publication held_out = publication::raw;  ///< of held-out units; version 2 knew nothing else
    look_plan looks = {};                     ///< priced at all of `delta`; none unless held_out is noised

    /// δ that is left for the mechanism: what the policy must be priced at.
    double mechanism_delta() const { return delta - padding_delta; }
    rldp::guarantee guarantee() const { return {semantics, insecure_reproducible, guaranteed_epsilon}; }
};

/// What a line says.
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
    friend std::string text_of(const charge& charged);
    explicit charge(ledger_line line, std::vector<look_line> before = {})
        : line_(std::make_shared<const ledger_line>(std::move(line))),
          before_(std::make_shared<const std::vector<look_line>>(std::move(before))) {}
    std::shared_ptr<const ledger_line> line_;
    std::shared_ptr<const std::vector<look_line>> before_;  ///< looks between it and the charge before
};

/// A place in a ledger, remembered outside of it: a ledger that lacks it was cut or is another one.
struct ledger_mark {
    std::uint64_t seq = 0;  ///< of the last step's charge, 0 before the first
    std::string hash;       ///< of the last line, a step's or a look's; of the header before the first
};

struct ledger_content {
    ledger_header header;
    std::string header_hash = {};
    std::vector<charge> charges = {};
    std::vector<look_charge> looks = {};
    std::vector<std::string> hashes = {};  ///< of all lines, the header's first
    std::vector<std::int64_t> dealt = {};  ///< steps charged so far to each card of the deck
    /// A last line without its end: its text is not trusted, its charge counts. Its fsync never returned, so no draw
    /// was opened for it and nothing was released.
    bool torn = false;
    std::uintmax_t whole_bytes = 0;  ///< length of the file up to the last whole line
    /// Consecutive equal steps joined. A torn charge is one more step at the least noise among deck and charges.
    std::vector<phase> phases() const;
    /// Of the first `count` charges alone.
    std::vector<phase> phases(std::size_t count) const;
    ledger_mark end() const;
    /// The look that was charged at that step, or null.
    const look_charge* look_at(std::int64_t step) const;
    bool holds(const ledger_mark& mark) const;
};

/// Reads and verifies: canonical hashes, chain, seq, finite numbers in range, version. Errors: bad_input with the line
/// number.
ledger_content read_ledger(const std::filesystem::path& path);

/// What a rank makes of the ledger that rank 0 writes, from what rank 0 tells it (docs/cluster.md): its steps' charges.
/// They order gradients; no noise is added and nothing is released with them. Looks are rank 0's alone.
class ledger_copy {
  public:
    /// `text`: the ledger so far. Errors: bad_input where it is none.
    explicit ledger_copy(std::string_view text);
    /// The charge of the next step, from text_of() it. Errors: bad_input where it is not the next.
    const charge& add(std::string_view text);
    const ledger_content& content() const { return content_; }

  private:
    ledger_content content_;
};

/// The lines of the looks before a charge, and its own, without an end.
std::string text_of(const charge& charged);

/// The one writer.
class ledger {
  public:
    static ledger create(const std::filesystem::path& path, const ledger_header& header);
    /// Verifies and goes on after the last charge. While content().torn, the next append stands for the torn charge:
    /// its line takes that one's place, and its step counts as lost and must not be computed.
    static ledger open(const std::filesystem::path& path);

    /// Validates, appends a line and fsyncs before it returns: charge before release.
    const charge& append(std::int64_t step, double noise_multiplier, double sample_rate,
                         std::optional<std::size_t> card);
    /// The next look, with the adapter of `step`, the last one charged or 0: charged as above before a held-out unit is
    /// opened. Errors: bad_input beyond the header's number of looks.
    const look_charge& append_look(std::int64_t step);
    const ledger_content& content() const { return content_; }

  private:
    friend class ledger_copy;
    friend ledger_content read_ledger(const std::filesystem::path& path);
    ledger(append_file file, ledger_content content);
    static ledger_content parse(std::string_view text, const std::string& origin);
    /// Takes a valid line that is in the file.
    static void accept(ledger_content& content, ledger_line line, std::vector<look_line> before = {});
    static void accept(ledger_content& content, look_line line);
    void write(const std::string& line);
    append_file file_;
    ledger_content content_;
};

}  // namespace rldp::privacy

#pragma once
// The public, append-only, hash-chained record of what was charged (docs/privacy.md §5).
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "base/guarantee.hpp"
#include "privacy/accounting/accountant.hpp"
#include "privacy/spending/charges.hpp"
#include "privacy/spending/policy.hpp"

namespace rldp::privacy {

struct ledger_header {
    static constexpr int current_version = 5, oldest_version = 2;
    int version = current_version;
    double delta = 0;            ///< of the contract: what the mechanism composes to and `padding_delta` together
    double padding_delta = 0;    ///< part of δ that pays for draws beyond the room of privacy.pad_batches; 0 without
    double rounding_margin = 0;  ///< η: sensitivities are charged as C·(1 + η)
    double sample_rate = 0;
    std::int64_t population = 0, steps = 0;
    std::string policy, accountant, unit, split;
    rldp::semantics semantics = rldp::semantics::sound;
    std::vector<card> deck;
    double epsilon_budget = 0;      ///< the budget asked for
    double epsilon_guaranteed = 0;  ///< what the policy commits to; "inf" in JSON where infinite
    std::string data_hmac;          ///< of the training data under the run key
    bool insecure_reproducible = false;
    publication held_out = publication::raw;  ///< of held-out units; version 2 knew nothing else
    look_plan looks = {};                     ///< priced at all of `delta`; none unless held_out is noised
    std::int64_t bands = 1;                   ///< of the noise (docs/privacy.md §14); before version 4 always 1
    std::int64_t runs = 1;  ///< of this plan that all of this pays for (docs/privacy.md §15); before version 5 always 1

    /// δ that is left for the mechanism: what the policy must be priced at.
    double mechanism_delta() const { return delta - padding_delta; }
    /// What a step draws its group's units at: sample_rate, or bands times that.
    double step_rate() const;
    /// Those of all its runs.
    look_plan all_looks() const { return {looks.count * runs, looks.noise_multiplier}; }
    rldp::guarantee guarantee() const { return {semantics, insecure_reproducible, epsilon_guaranteed}; }
};

/// What a header says of its policy's plan; it knows neither the blocks nor the levels that a deck was cut into.
spending_plan to_spending_plan(const ledger_header& header);

/// A place in a ledger, remembered outside of it: a ledger that lacks it was cut or is another one.
struct ledger_mark {
    std::uint64_t seq = 0;  ///< of the last step's charge, 0 before the first
    std::string hash;       ///< of the last line, a step's or a look's; of the header before the first
};

struct ledger_content {
    ledger_header header;
    std::string header_hash = {};
    charge_list charges = {};
    std::vector<look_charge> looks = {};
    std::string last_hash = {};            ///< of the last line
    std::vector<std::int64_t> dealt = {};  ///< steps charged so far to each card of the deck
    /// A last line without its end: its text is not trusted, its charge counts. Its fsync never returned, so no draw
    /// was opened for it and nothing was released.
    bool torn = false;
    std::uintmax_t whole_bytes = 0;  ///< length of the file up to the last whole line
    /// Consecutive equal steps joined; in several bands as rounds. A torn charge is one more step at the least noise
    /// among deck and charges.
    std::vector<phase> phases() const;
    /// Of the first `count` charges alone.
    std::vector<phase> phases(std::size_t count) const;
    ledger_mark end() const;
    /// How many charges there are for steps up to and with `step`.
    std::size_t charges_through(std::int64_t step) const;
    /// Of that step's line, of the header for step 0; empty where it was not charged.
    std::string find_hash(std::int64_t step) const;
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
    /// The charge of the next step, from format_charge() it. Errors: bad_input where it is not the next.
    charge add(std::string_view text);
    const ledger_content& content() const { return content_; }

  private:
    ledger_content content_;
};

/// The lines of the looks before a charge that was made now, and its own, without an end.
std::string format_charge(const charge& charged);

/// The one writer.
class ledger {
  public:
    static ledger create(const std::filesystem::path& path, const ledger_header& header);
    /// Verifies and goes on after the last charge. While content().torn, the next append stands for the torn charge:
    /// its line takes that one's place, and its step counts as lost and must not be computed.
    static ledger open(const std::filesystem::path& path);

    /// Validates, appends a line and fsyncs before it returns: charge before release.
    charge append(std::int64_t step, double noise_multiplier, double sample_rate, std::optional<std::size_t> card);
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
    static charge accept(ledger_content& content, ledger_line line, std::vector<look_line> before = {});
    static void accept(ledger_content& content, look_line line);
    void write(const std::string& line);
    append_file file_;
    ledger_content content_;
};

}  // namespace rldp::privacy

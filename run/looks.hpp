#pragma once
// Looks at held-out units in a run (docs/privacy.md §13): where their figures are expected, what a resume finds of
// them, and what its owner may see besides. The sum itself is privacy/mechanism/look.hpp's.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "config/spec.hpp"
#include "eval/held_out.hpp"
#include "privacy/keys/seal.hpp"
#include "privacy/mechanism/look.hpp"
#include "run/artifacts/metrics.hpp"
#include "run/artifacts/summary.hpp"
#include "run/outcome.hpp"

namespace rldp::actors {

/// What looks measure, from the configuration and the model: public.
struct look_rule {
    double reach = 1;     ///< eval.clip, nats per token
    double evenly = 0;    ///< log V: what guessing evenly among all tokens costs
    bool values = false;  ///< whether a template tells which tokens carry a value
    bool hits = false;    ///< whether eval.target is guessed, among declared classes
};
look_rule make_look_rule(const config::run_spec& spec, std::int64_t vocabulary);

/// Halfway between nothing and where the look before found them, for training lowers them; or else halfway to what a
/// model costs that has learned nothing.
privacy::look_frame make_frame(const look_rule& rule, const std::optional<privacy::look_release>& before);

eval::scores to_scores(const privacy::look_figures& figures);

/// Puts what earlier looks found into the lines of a run log that goes on, with the ledger's header's hash at step 0.
void add_looks(std::vector<eval::metrics_line>& to, const std::vector<privacy::look_release>& found,
               const std::string& header_hash);

/// trusted/looks.safetensors: every look that was released, durable before anybody hears of it. A look that was charged
/// and is not there is lost: it is never redone.
class looks_log {
  public:
    /// Goes on after those that were made.
    looks_log(std::filesystem::path path, privacy::file_seal seal, std::vector<privacy::look_release> made)
        : path_(std::move(path)), seal_(std::move(seal)), made_(std::move(made)) {}
    /// In their order; none where there is no file. Errors: bad_input for a file that is damaged, another run's, or
    /// holds a look that `ledger` did not charge.
    static std::vector<privacy::look_release> read(const std::filesystem::path& path, const privacy::file_seal& seal,
                                                   const privacy::ledger_content& ledger);
    void append(const privacy::look_release& made);
    const std::vector<privacy::look_release>& made() const { return made_; }

  private:
    std::filesystem::path path_;
    privacy::file_seal seal_;
    std::vector<privacy::look_release> made_;
};

/// What a look's sum was made of.
struct look_notes {
    std::int64_t units = 0, shortened = 0;
    double nats = 0;  ///< mean over units, as they are
};

eval::run_summary::target_scores to_scores(const predictions& found);

/// trusted/held_out.json: exact figures of held-out units, for their owner's eyes.
class owner_figures {
  public:
    explicit owner_figures(std::filesystem::path path);  ///< goes on with what is there
    /// Of the adapter after `step`; of a look also what it summed.
    void add(std::int64_t step, const eval::scores& exact, const std::optional<look_notes>& look = {});
    void end(const eval::floors& floors, const std::optional<predictions>& predicted);

  private:
    std::filesystem::path path_;
};

}  // namespace rldp::actors

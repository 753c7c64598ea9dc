#pragma once
// public/metrics.jsonl: one line per step. Each ends with "crc32", the checksum (as zlib's) of the line without that
// field: a digit that a disk has changed is a damaged line, not another number. Each names, by hash, the line of the
// ledger that it belongs to: a line of another run is not this one's.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files.hpp"

namespace rldp::eval {

/// Where a figure that carries noise lies with 95 %, for the noise alone (docs/privacy.md §13).
struct interval {
    double low = 0, high = 0;
    bool operator==(const interval&) const = default;
};

/// ε of the steps so far, priced now and then: for orientation, no guarantee.
struct progress_price {
    double epsilon = std::numeric_limits<double>::quiet_NaN();
    std::int64_t step = 0;                                ///< as of its end; 0: nothing has been priced yet
    bool operator==(const progress_price& other) const {  // nothing priced is nothing priced, whatever its number
        return step == other.step && (step == 0 || epsilon == other.epsilon);
    }
};

struct metrics_line {
    std::int64_t step = 0;
    std::optional<double> loss_released;  ///< mean token loss as released (noisy), nats
    double noise_multiplier = 0;          ///< z
    std::vector<double> radii;            ///< C_i
    progress_price progress = {};         ///< the last one known
    std::optional<double> eval_perplexity;
    std::optional<double> eval_value_nats = {};  ///< per record, of the tokens that carry a value
    /// Of looks, whose figures carry noise: per token that carries a value, and of eval.target.
    std::optional<double> eval_value_token_nats = {}, eval_accuracy = {};
    std::optional<interval> eval_perplexity_in = {}, eval_value_token_nats_in = {}, eval_accuracy_in = {};
    /// Of a prepared controller, from its first decision on.
    struct steering {
        double lr_factor = 1;       ///< of the schedule's rate
        std::vector<double> rates;  ///< [n] factors of the adapters' own, on top
        double trust = 1;           ///< how much of what a net adds to a rule acts, in [0, 1]
    };
    std::optional<steering> steered = {};
    std::string ledger = {};  ///< hash of the step's line there, of the header for step 0; empty in older run logs
    bool lost = false;        ///< stands for a line that was damaged or taken away while the run was interrupted
};

/// JSON without the checksum; infinite and NaN numbers are the strings "inf", "-inf", "nan".
std::string to_json(const metrics_line& line);
metrics_line parse_metrics_line(const std::string& json);
/// A line of the file, without its newline.
std::string with_checksum(const std::string& json);
/// Errors: bad_input where the checksum is missing or another one.
std::string without_checksum(const std::string& text);
/// A line of the file as it stands there.
struct stored_line {
    std::int64_t number = 0;  ///< from 1
    metrics_line line = {};
    std::string damage = {};  ///< path, number and why it is none; empty: it is one
};
/// Every line that has an end, in the file's order; a torn last one is no line.
void each_line(const std::filesystem::path& path, const std::function<void(stored_line&)>& take);

/// To lines in the order of steps. Several of one step are one: an evaluation or another price comes later.
void add(std::vector<metrics_line>& to, metrics_line line);

/// Every step's line, merged. Errors: bad_input naming path and line for one that is none.
std::vector<metrics_line> read_metrics(const std::filesystem::path& path);
/// Replaces the file.
void write_metrics(const std::filesystem::path& path, const std::vector<metrics_line>& lines);

/// For spreadsheets: a row per step and a column per quantity (quantities.hpp), empty where a step has no value; of the
/// radii, of which there may be hundreds, their mean.
std::string metrics_csv(const std::vector<metrics_line>& lines);

/// The file while a run goes on. One writer; errors: as append_file.
class metrics_log {
  public:
    /// Goes on after the lines that a resumed run already has.
    explicit metrics_log(std::filesystem::path path) : path_(std::move(path)), file_(path_) {}
    /// Readers see the line at once; a power cut may lose it until sync().
    void append(const metrics_line& line);
    void sync() { file_->sync(); }
    /// Rewrites it in the order of steps: where an evaluation came in tells how long it took. Answers the lines.
    std::vector<metrics_line> sort();

  private:
    std::filesystem::path path_;
    std::optional<append_file> file_;
};

}  // namespace rldp::eval

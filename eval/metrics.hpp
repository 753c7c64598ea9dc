#pragma once
// public/metrics.jsonl: one line per step.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rldp::eval {

struct metrics_line {
    std::int64_t step = 0;
    std::optional<double> loss_released;  ///< mean token loss as released (noisy), nats
    double noise_multiplier = 0;          ///< z
    std::vector<double> radii;            ///< C_i
    double progress_epsilon = 0;          ///< for orientation, no guarantee
    std::optional<double> eval_perplexity;
};

/// One line of JSON without its newline; infinite and NaN numbers are the strings "inf", "-inf", "nan".
std::string to_json(const metrics_line& line);
metrics_line parse_metrics_line(const std::string& json);
/// Every whole line; several lines of one step are merged (evaluations arrive later than their step).
std::vector<metrics_line> read_metrics(const std::filesystem::path& path);

}  // namespace rldp::eval

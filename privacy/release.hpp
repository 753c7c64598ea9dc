#pragma once
// The only thing that crosses from the trusted to the public side, and the write-ahead log that remembers it.
#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/files.hpp"
#include "privacy/keys/seal.hpp"
#include "privacy/spending/ledger.hpp"

namespace rldp::privacy {

/// As_published only: raw, unprotected statistics of a batch, opened by declassify_unsound.
struct raw_statistics {
    std::vector<std::array<double, 3>> quartiles;  ///< of ν per group
    double loss = 0, variance = 0, fisher_mean = 0, fisher_variance = 0, skewness = 0, kurtosis = 0;
    std::int64_t units = 0;
};

/// The noised pair of one step (docs/privacy.md §2). There is none without the charge that paid for it.
struct release {
    charge charged;
    at::Tensor gradient;                    ///< float32 [D], CPU: noised clipped sum on its public grid, not divided
    std::vector<double> statistics;         ///< noised sum of what was measured; empty where nothing was
    std::optional<raw_statistics> unsound;  ///< as_published only
};

/// Append-only, sealed record by record, fsynced before a release is handed over; lies in trusted/.
class release_log {
  public:
    /// Cuts off what a crash left torn at its end. Errors: as read.
    release_log(const std::filesystem::path& path, file_seal seal);
    void append(const release& value);
    /// Empties the log, once a checkpoint holds everything up to its last release.
    void clear();
    /// Every whole release in order, with its charge in `ledger`; a last record that is torn is none (that step is
    /// lost, and stays charged). Errors: bad_input for a damaged record with another behind it, which no crash leaves,
    /// and for a release that the ledger did not charge, at its step and multiplier.
    static std::vector<release> read(const std::filesystem::path& path, const file_seal& seal,
                                     const ledger_content& ledger);

  private:
    append_file file_;
    file_seal seal_;
};

}  // namespace rldp::privacy

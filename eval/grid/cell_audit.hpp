#pragma once
// The figures of a cell's audit that methods are compared by.
#include <array>
#include <filesystem>
#include <map>
#include <string>

namespace rldp::eval {

/// In the order of the published tables, then ours. Of members' endings; Jaccard of the published prompt, or of the
/// record alone where there is none.
inline constexpr std::array attack_figures = {"mean log-probability",
                                              "mean perplexity",
                                              "membership AUC",
                                              "Jaccard 1",
                                              "Jaccard 2",
                                              "Jaccard 3",
                                              "Jaccard 4",
                                              "valid outputs",
                                              "secrets found",
                                              "mean exposure, bits",
                                              "ε at least"};

/// Of an audit.json, by name; what the audit left out is not there. Empty where there is no file. Errors: bad_input
/// naming the file.
std::map<std::string, double> read_attacks(const std::filesystem::path& audit_json);

}  // namespace rldp::eval

#pragma once
// Golden cases, temporary directories and comparisons for the tests of models/.
#include <ATen/ATen.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "models/causal_lm.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

namespace rldp::models::test {

namespace fs = std::filesystem;

/// Golden directories: those below RLDP_GOLDEN (default ../shared/golden/models and models_next) and the real tiny
/// model, with a case.json.
inline std::vector<fs::path> golden_directories() {
    const char* root = std::getenv("RLDP_GOLDEN");
    std::vector<fs::path> found, candidates{"../shared/data/stories260K"};
    std::error_code ignored;
    const std::vector<std::string> here{"../shared/golden/models", "../shared/golden/models_next"};
    for (const auto& place : root ? std::vector<std::string>{root} : here)
        for (const auto& entry : fs::directory_iterator(place, ignored)) candidates.push_back(entry.path());
    for (const auto& directory : candidates)
        if (fs::exists(directory / "case.json")) found.push_back(directory);
    std::sort(found.begin(), found.end());
    return found;
}

inline nlohmann::json read_json(const fs::path& path) {
    return nlohmann::json::parse(std::ifstream(path));
}

inline double largest_difference(const at::Tensor& x, const at::Tensor& y) {
    return (x.to(at::kDouble) - y.to(at::kDouble)).abs().max().item<double>();
}

}  // namespace rldp::models::test

#pragma once
// Makes the small public base model that lies in the repository, from synthetic prose, so that anyone can make it
// again.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace rldp::models {

struct pretrain_config {
    std::int64_t vocab = 512, width = 64, layers = 4, heads = 4, window = 256;
    std::int64_t texts = 20000;  ///< passages of synthetic prose
    std::int64_t steps = 2400, batch = 8;
    double lr = 3e-3;
    std::int64_t seed = 1;
};

/// `count` passages of ordinary English prose from a seeded grammar: everyday scenes, letters, weather, wards, numbers,
/// codes. It never contains the clauses of the narrative template.
std::vector<std::string> make_synthetic_text(std::int64_t count, std::int64_t seed);

/// Trains a GPT-2 from scratch and writes tokenizer.json, tokenizer_config.json, model.safetensors,
/// generation_config.json and, last, config.json. `progress(step, loss)` is called after every step. Returns the
/// perplexity per token of the passages held out, every fiftieth.
double pretrain(const pretrain_config& config, const std::filesystem::path& out,
                const std::function<void(std::int64_t, double)>& progress);

}  // namespace rldp::models

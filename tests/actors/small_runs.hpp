#pragma once
// Whole runs of a few steps, on real threads and files.
#include <ATen/ATen.h>

#include <filesystem>
#include <string>
#include <vector>

#include "actors/launch.hpp"
#include "config/config.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "tests/rl/prepared/made_up_policy.hpp"

namespace rldp::testing {

/// The demo on less: twelve steps of six short records, decisions after every fourth, checkpoints after every fifth.
inline config::run_config small(std::vector<std::string> more = {}) {
    std::vector<std::string> set = {"data.path=synthetic:400",
                                    "data.max_tokens=24",
                                    "train.steps=12",
                                    "train.expected_batch_size=6",
                                    "train.micro_batch=4",
                                    "train.eval_every=5",
                                    "train.eval_records=4",
                                    "rl.interval=4",
                                    "rl.warmup=4",
                                    "noise.bands=1"};
    set.insert(set.end(), more.begin(), more.end());
    return config::load("config/demo.json", set);
}

/// The same under a policy, which decides after steps 4 and 8.
inline config::run_config small_prepared(const std::filesystem::path& policy, bool passed = true,
                                         const std::vector<std::string>& more = {}) {
    auto parts = made_up_parts();
    parts.interval = 4;
    parts.passed = passed;
    rl::prepared_policy(std::move(parts)).save(policy);
    std::vector<std::string> set = {"rl.state=prepared", "rl.controller=" + policy.string(), "rl.policy=learned",
                                    "rl.warmup=2",       "noise.allocation=shares",          "train.warmup=null"};
    set.insert(set.end(), more.begin(), more.end());
    return small(set);
}

inline eval::run_summary run_quietly(const config::run_config& config, const std::filesystem::path& directory) {
    return actors::launch([&] { return actors::create_run(config, directory); },
                          {.name = "test", .monitor = {}, .display = {}, .on_plan = {}, .sign = {}});
}

inline eval::run_summary resume_quietly(const std::filesystem::path& directory, const actors::opening& how = {}) {
    return actors::launch([&] { return actors::resume_run(directory, how); },
                          {.name = "test", .monitor = {}, .display = {}, .on_plan = {}, .sign = {}});
}

/// All numbers of a finished run's adapter.
inline at::Tensor saved_adapter(const std::filesystem::path& run) {
    const models::safetensors_file file(run / "public/adapter/adapter_model.safetensors");
    std::vector<at::Tensor> parts;
    for (const auto& name : file.names()) parts.push_back(file.tensor(name).clone().flatten());
    return at::cat(parts);
}

}  // namespace rldp::testing

#pragma once
// A file for `rldp prepare-controller`, and what reading it gives.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/files.hpp"
#include "eval/research/preparation/preparation.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

namespace rldp::testing {

inline const std::string written = R"({
    "about": "for tests", "seed": 3,
    "quadratics": {"offset": 8, "held_out": ["few-steep-warm"], "tasks": 16, "gate_tasks": 8, "generations": 2, "rounds": 1},
    "runs": {"offset": 4, "generations": 2, "population": 4, "tasks": 2, "gate_tasks": 2,
        "families": {
            "brief": {"base": "base.json", "records": 300, "set": {"train.eval_records": 8, "noise.bands": 1},
                      "draw": {"privacy.epsilon": [0.5, 2], "train.steps": [16, 24, 32]}},
            "wide": {"base": "base.json", "records": 400, "set": {"train.steps": 32},
                     "draw": {"lora.rank": [4, 8], "noise.bands": [1, 4]}},
            "held": {"base": "other.json", "records": 500, "set": {"noise.bands": 1}}},
        "held_out": ["held"]}})";

/// Its bases stay until the program ends, for tasks are drawn from them later.
inline eval::preparation_file read(const std::string& text) {
    static const scratch_directory at;
    auto base = nlohmann::json::parse(read_file("config/demo.json"));
    base["model"]["path"] = std::filesystem::absolute("config/tiny-gpt2").string();
    for (const auto* name : {"base.json", "other.json"}) at.write(name, base.dump());
    return eval::read_preparation(at.write("prepare.json", text));
}

/// The file with its first `from` replaced.
inline std::string with(const std::string& from, const std::string& to) {
    auto text = written;
    return text.replace(text.find(from), from.size(), to);
}

}  // namespace rldp::testing

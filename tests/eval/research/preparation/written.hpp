#pragma once
// A file for `rldp prepare-controller`, and what reading it gives.
#include <string>

#include "base/files.hpp"
#include "eval/research/preparation/preparation.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

namespace rldp::testing {

inline const std::string written = R"({
    "about": "for tests", "seed": 3,
    "quadratics": {"offset": 8, "held_out": ["few-steep-warm"], "tasks": 16, "gate_tasks": 8, "generations": 2, "rounds": 1},
    "bilinear": {"offset": 4, "held_out": ["many"], "tasks": 8, "gate_tasks": 2, "generations": 3, "rounds": 0},
    "runs": {"lr": 0.01, "offset": 4, "generations": 2, "population": 4, "tasks": 2, "gate_tasks": 2,
        "families": {
            "brief": {"base": "base.json", "records": 300, "set": {"train.eval_records": 8},
                      "draw": {"privacy.epsilon": [0.5, 2], "train.steps": [16, 24, 32]}},
            "wide": {"base": "base.json", "records": 400, "draw": {"lora.rank": [4, 8]}},
            "held": {"base": "other.json", "records": 500}},
        "held_out": ["held"]}})";

inline eval::preparation_file read(const std::string& text) {
    const scratch_directory at;
    for (const auto* base : {"base.json", "other.json"}) at.write(base, read_file("config/demo.json"));
    return eval::read_preparation(at.write("prepare.json", text));
}

/// The file with its first `from` replaced.
inline std::string with(const std::string& from, const std::string& to) {
    auto text = written;
    return text.replace(text.find(from), from.size(), to);
}

}  // namespace rldp::testing

#pragma once
// Made-up cells, and a program that imitates `rldp run`.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "eval/experiments/cell_files.hpp"
#include "eval/experiments/results.hpp"
#include "tests/eval/sample.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

#include "tests/catch.hpp"

/// `text` with its first `from` replaced, which must be there.
inline std::string replace_first(std::string text, const std::string& from, const std::string& to) {
    const auto place = text.find(from);
    REQUIRE(place != std::string::npos);
    return text.replace(place, from.size(), to);
}

/// A resolver without files: every override lands in the document.
inline rldp::eval::resolver fake_resolver(const std::string& data = "/data/real.csv") {
    return [data](const std::vector<std::string>& overrides) {
        auto document = nlohmann::ordered_json::parse(R"({"privacy": {"epsilon": 8, "semantics": "sound",
            "population": null, "unit": "record"}, "method": {"name": "rldp"}, "train": {"lr": 0.0005, "eval_records": null},
            "data": {"path": "", "split": "hash", "split_seed": 42}, "audit": {"canaries": 0}, "monitor": {"address": null}, "seed": 42})");
        document["data"]["path"] = data;
        for (const auto& text : overrides) {
            if (text.find("=bad") != std::string::npos) rldp::refuse("--set " + text + ": refused");
            const auto equals = text.find('=');
            auto key = "/" + text.substr(0, equals);
            std::replace(key.begin(), key.end(), '.', '/');
            const auto value = text.substr(equals + 1);
            using json = nlohmann::ordered_json;
            document[json::json_pointer(key)] = json::accept(value) ? json::parse(value) : json(value);
        }
        return document;
    };
}

/// A cell of real data that is done: its perplexity at the end, and evaluations as (step, perplexity) of 100 steps.
inline rldp::eval::measured done_cell(const std::string& method, double epsilon, std::int64_t seed, double end,
                                      const std::vector<std::pair<std::int64_t, double>>& curve = {}) {
    rldp::eval::measured out;
    out.where.id = method + "-" + std::to_string(seed);
    out.where.arm = method;
    out.where.epsilon = epsilon;
    out.where.seed = seed;
    out.where.at["stage"] = "common";
    out.where.split = rldp::eval::data_split{{"data.split_seed", "42"}};
    auto& result = out.result;
    result.state = rldp::eval::cell_state::done;
    result.summary = sample_summary();
    result.summary->steps_planned = 100;
    result.summary->perplexity_after = end;
    result.summary->epsilon_guaranteed = epsilon;
    result.committed = rldp::eval::commitment{epsilon, 1e-5, 100, true};
    for (const auto& [step, perplexity] : curve) {
        rldp::eval::metrics_line line;
        line.step = step;
        line.noise_multiplier = 1;
        line.radii = {0.1, 0.3};
        line.eval_perplexity = perplexity;
        result.metrics.push_back(line);
    }
    return out;
}

inline rldp::eval::measured cell_in_state(const std::string& method, double epsilon, std::int64_t seed,
                                          rldp::eval::cell_state state) {
    auto out = done_cell(method, epsilon, seed, 0);
    out.result = {};
    out.result.state = state;
    return out;
}

inline void says(const std::string& line, const std::string& part) {
    CAPTURE(line);
    CAPTURE(part);
    CHECK(has(line, part));
}

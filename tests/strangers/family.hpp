#pragma once
// Processes of the program with variables of their own, looked at until they end.
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/kill/child.hpp"
#include "tests/strangers/sockets.hpp"

namespace rldp::testing {

using variables = std::vector<std::pair<std::string, std::string>>;

inline std::unique_ptr<child> started(const std::vector<std::string>& arguments, const std::filesystem::path& output,
                                      const variables& with = {}) {
    for (const auto& [name, value] : with) ::setenv(name.c_str(), value.c_str(), 1);
    auto out = std::make_unique<child>(arguments, output);
    for (const auto& [name, value] : with) ::unsetenv(name.c_str());
    return out;
}

/// Looks again and again until it has ended, or `look` has seen enough.
inline void look_at(const child& process, const std::function<bool()>& look) {
    do
        if (look()) return;
    while (!process.ends_within(std::chrono::milliseconds(2)));
}

inline variables as_rank(int rank, const std::string& host, std::uint16_t port) {
    return {{"RANK", std::to_string(rank)},
            {"WORLD_SIZE", "2"},
            {"MASTER_ADDR", host},
            {"MASTER_PORT", std::to_string(port)}};
}

/// A run of a second or two.
inline std::vector<std::string> small_run(const std::filesystem::path& out, std::int64_t steps,
                                          const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"run", "config/demo.json", "--quiet", "--out", out.string()};
    words.insert(words.end(), more.begin(), more.end());
    for (const auto& set : {std::string("data.path=synthetic:300"), std::string("data.max_tokens=24"),
                            "train.steps=" + std::to_string(steps), std::string("train.expected_batch_size=8"),
                            std::string("train.micro_batch=4"), std::string("train.eval_records=2"),
                            std::string("noise.insecure_reproducible=true")}) {
        words.emplace_back("--set");
        words.push_back(set);
    }
    return words;
}

}  // namespace rldp::testing

#pragma once
// How verify commands print what they checked and what they could not.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "config/base/output.hpp"
#include "eval/report/run_certificate.hpp"

namespace rldp::app {

inline void print_findings(const char* title, const std::vector<eval::finding>& all) {
    if (all.empty()) return;
    say("{}\n", title);
    for (const auto& each : all) say("  {:<15}{}\n", each.subject, each.sentence);
}

inline nlohmann::ordered_json to_json(const std::vector<eval::finding>& all) {
    auto out = nlohmann::ordered_json::object();
    for (const auto& each : all) out[each.subject] = each.sentence;
    return out;
}

}  // namespace rldp::app

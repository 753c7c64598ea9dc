#include "eval/grid/comparison/compared_methods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "config/base/error.hpp"
#include "config/base/require.hpp"
#include "config/methods.hpp"
#include "eval/grid/lists.hpp"

namespace rldp::eval {
namespace {

// The base configuration is made for the controller: what it says about noise, statistics and radii is not the
// baselines' and goes back to each method's own default.
variant baseline(const std::string& name, const std::string& sentence, std::vector<std::string> more = {}) {
    const auto method = more.empty() ? "method.name=\"" + name + "\"" : more.front();
    variant out{name, role::baseline, sentence, {method}};
    for (const char* reset :
         {"noise.policy=null", "noise.statistics_share=null", "noise.allocation=null", "rl.state=null",
          "rl.controller=null", "rl.signer=null", "clip.groups=null", "clip.initial=null"})
        out.overrides.emplace_back(reset);
    if (!more.empty()) out.overrides.insert(out.overrides.end(), more.begin() + 1, more.end());
    return out;
}

variant rldp_with(const std::string& name, role part, const std::string& sentence, std::vector<std::string> changes) {
    changes.insert(changes.begin(), "method.name=\"rldp\"");
    return {name, part, sentence, std::move(changes)};
}

std::vector<variant> baselines() {
    std::vector<variant> out;
    for (const auto& row : config::methods()) {
        if (row.steered()) continue;
        out.push_back(baseline(row.name, row.sentence));
        if (row.kind == config::method_kind::geoclip)
            out.push_back(baseline("geoclip_block", "GeoClip with one scale per pair, without directions",
                                   {"method.name=\"geoclip\"", "method.rank=0"}));
    }
    return out;
}

std::vector<variant> ours_and_controls() {
    const auto control = [](const std::string& name, const std::string& sentence, std::vector<std::string> changes) {
        return rldp_with(name, role::control, sentence, std::move(changes));
    };
    return {
        rldp_with("rldp", role::ours, "the controller as the base configuration has it", {}),
        rldp_with("rldp_as_published", role::unsound, "the publication's semantics: no guarantee",
                  {"privacy.semantics=\"as_published\"", "privacy.acknowledge_no_guarantee=true", "noise.policy=null",
                   "noise.allocation=null", "rl.rescale=null", "rl.radius_scale=null"}),
        control("rldp_random", "the controller replaced by random actions", {"rl.policy=\"random\""}),
        control("rldp_frozen", "the policy as initialised, never learning", {"rl.policy=\"frozen\""}),
        control("rldp_radii", "radii only, the same noise at each step",
                {"rl.actions=[\"radii\"]", "noise.policy=\"fixed\""}),
        control("rldp_noise", "the order of the noise only", {"rl.actions=[\"noise\"]"}),
        control("rldp_shares", "radii, noise and how the noise is shared among the adapters",
                {"rl.actions=[\"radii\",\"noise\",\"shares\"]", "noise.allocation=\"shares\""}),
        control("rldp_lr", "radii, noise and the learning rate", {"rl.actions=[\"radii\",\"noise\",\"lr\"]"}),
        control("rldp_public_radii", "radii from public data, fixed; the order of the noise is the controller's",
                {"rl.actions=[\"noise\"]", "public.path=\"synthetic:2000\"", "public.use=[\"radii\"]"}),
    };
}

bool belongs(const variant& one, const std::string& word) {
    if (word == "all") return one.part != role::control;
    if (word == "controls") return one.part == role::control;
    return one.name == word;
}

[[noreturn]] void unknown(const std::string& word) {
    std::string names;
    for (const auto& known : compared_methods()) names += ", " + known.name;
    refuse(fmt::format("--methods: {} is not known; choose from all, controls{}", word, names));
}

}  // namespace

const std::vector<variant>& compared_methods() {
    static const auto all = [] {
        auto list = baselines();
        for (auto& one : ours_and_controls()) list.push_back(std::move(one));
        return list;
    }();
    return all;
}

std::vector<variant> methods_from(const std::string& list) {
    std::set<std::string> chosen;
    for (const auto& word : distinct_list("--methods", list)) {
        bool known = false;
        for (const auto& one : compared_methods())
            if (belongs(one, word)) known = true, chosen.insert(one.name);
        if (!known) unknown(word);
    }
    std::vector<variant> out;
    for (const auto& one : compared_methods())
        if (chosen.count(one.name)) out.push_back(one);
    return out;
}

std::string name_of(role part) {
    switch (part) {
        case role::baseline:
            return "baseline";
        case role::ours:
            return "ours";
        case role::control:
            return "control";
        case role::unsound:
            return "unsound";
    }
    bug("a role without a name");
}

}  // namespace rldp::eval

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "privacy/keys/digest.hpp"
#include "rl/prepared/prepared_policy.hpp"

namespace rldp::embedded {
extern const std::string_view shipped_policy;
}

namespace rldp::rl {
namespace {

using nlohmann::json;
using tensors = std::map<std::string, at::Tensor>;

constexpr const char* entry_name = "rldp_policy";
constexpr const char* signature_name = "rldp_signature";
constexpr std::int64_t widest = 256;  // hidden numbers, beyond which no file of the largest size could hold the nets

// What the weights mean: another list is another policy.
json actions() {
    return {"rate", "own_rate"};
}
json features() {
    return {{"adapter", {"signal", "cosine", "along", "update", "rate"}},
            {"run", {"time", "noise", "epochs", "score", "scores", "rate"}}};
}

template <std::size_t N>
at::Tensor to_tensor(const std::array<double, N>& values) {
    return at::tensor(at::ArrayRef<double>(values.data(), N), at::kDouble);
}

tensors stored(const prepared_parts& parts) {
    return {{"actor", parts.actor},
            {"adapter_deviation", to_tensor(parts.normaliser.adapter_deviation)},
            {"adapter_mean", to_tensor(parts.normaliser.adapter_mean)},
            {"global_deviation", to_tensor(parts.normaliser.global_deviation)},
            {"global_mean", to_tensor(parts.normaliser.global_mean)},
            {"guard_mean", to_tensor(parts.guard.mean)},
            {"guard_precision", to_tensor(parts.guard.precision)},
            {"guard_reach", to_tensor(std::array{parts.guard.reach})},
            {"rule", to_tensor(parts.how.numbers)},
            {"best_schedule", to_tensor(parts.best_fixed.numbers)},
            {"schedule", to_tensor(parts.fixed.numbers)},
            {"usual", to_tensor(parts.usual.log_rates)}};
}

// All that a policy is but its digest.
json describe_policy(const prepared_parts& parts) {
    return {{"version", prepared_policy::version},
            {"actions", actions()},
            {"features", features()},
            {"hidden", parts.hidden},
            {"passed", parts.passed},
            {"interval", parts.interval},
            {"figures", json::parse(parts.figures)}};
}

std::string compute_digest(const prepared_parts& parts) {
    std::string bytes = describe_policy(parts).dump();
    for (const auto& [name, tensor] : stored(parts)) {
        const auto whole = tensor.contiguous();
        bytes += name;
        bytes.append(static_cast<const char*>(whole.data_ptr()), whole.nbytes());
    }
    return privacy::sha256(bytes);
}

struct policy_reader {
    const models::safetensors_file& file;
    const std::string& origin;

    [[noreturn]] void damaged(const std::string& what) const {
        refuse(fmt::format("{}: {}; the policy is damaged, fetch it anew or prepare another", origin, what));
    }
    at::Tensor tensor(const char* name, at::ScalarType type, std::int64_t size) const {
        if (!file.contains(name)) damaged(fmt::format("'{}' is missing", name));
        const auto out = file.tensor(name);
        if (out.scalar_type() != type || out.dim() != 1 || out.size(0) != size)
            damaged(fmt::format("'{}' has another type or size", name));
        if (!at::isfinite(out).all().item<bool>()) damaged(fmt::format("'{}' is not finite", name));
        return out.clone();
    }
    template <std::size_t N>
    void read(const char* name, std::array<double, N>& into) const {
        const auto from = tensor(name, at::kDouble, static_cast<std::int64_t>(N));
        std::copy_n(from.data_ptr<double>(), N, into.begin());
    }
    /// Numbers of a search, none of which lies beyond what is far from all that a search reaches.
    template <std::size_t N>
    void read_moderate(const char* name, std::array<double, N>& into) const {
        constexpr double most = 10;
        read(name, into);
        for (const double value : into)
            if (std::abs(value) > most) damaged(fmt::format("'{}' has a number beyond ±{:g}", name, most));
    }
    schedule schedule_in(const char* name) const {
        schedule out;
        read_moderate(name, out.numbers);
        const double tilt = out.numbers[schedule::tilt], tail = out.numbers[schedule::tail];
        if (std::abs(tilt) > 1 || !(tail > 0 && tail <= 1)) damaged(fmt::format("'{}' is no schedule", name));
        return out;
    }
};

}  // namespace

prepared_policy::prepared_policy(prepared_parts parts) : parts_(std::move(parts)), nets_(parts_.hidden) {
    require(parts_.actor.numel() == nets_.actor_size(), "a policy's actor has the weights of its nets");
    require(json::accept(parts_.figures), "a policy's figures are JSON");
}

policy_action prepared_policy::act(const policy_observation& seen) const {
    const auto normalised = parts_.normaliser(seen);
    const auto raw = compute_raw_policy(nets_, parts_.actor, normalised).mean;
    return with_residual(parts_.how(seen), raw, parts_.guard.part(normalised));
}

std::string prepared_policy::digest() const {
    return compute_digest(parts_);
}

namespace {

/// What is signed: a signature of a certificate is none of a policy.
std::string vouched(const prepared_policy& policy) {
    return "rldp prepared policy " + policy.digest();
}

}  // namespace

void prepared_policy::sign(const privacy::signing_key& key) {
    signature_ = {key.public_half(), key.sign(vouched(*this))};
}

std::optional<privacy::verifying_key> prepared_policy::signer() const {
    if (!signature_) return {};
    return signature_->by;
}

void prepared_policy::save(const std::filesystem::path& path) const {
    auto about = describe_policy(parts_);
    about["digest"] = digest();
    std::map<std::string, std::string> words = {{entry_name, about.dump()}};
    if (signature_) words[signature_name] = json{{"key", signature_->by.hex()}, {"signature", signature_->hex}}.dump();
    models::save_safetensors(path, stored(parts_), words);
}

prepared_policy prepared_policy::load(const std::filesystem::path& path) {
    const std::string origin = path.string();
    std::error_code unknown;  // what can't be opened is said by its reader
    if (std::filesystem::is_regular_file(path, unknown) && std::filesystem::file_size(path, unknown) > largest_file)
        refuse(fmt::format("{}: larger than the {} bytes that a prepared policy has at most", origin, largest_file));
    return read(models::safetensors_file(path), origin);
}

prepared_policy prepared_policy::shipped() {
    static const auto it =
        read(models::safetensors_file(embedded::shipped_policy, "the shipped policy"), "the shipped policy");
    return it;
}

prepared_policy prepared_policy::read(const models::safetensors_file& file, const std::string& origin) {
    const auto found = file.metadata().find(entry_name);
    refuse_unless(found != file.metadata().end(), origin + ": not a prepared policy; name one that preparation wrote");
    const auto about = parse_object(found->second, origin + ": " + entry_name);
    const json_reader from(about, origin + ": " + entry_name);
    const auto saved = from.integer("version", 0, std::numeric_limits<std::int64_t>::max());
    refuse_unless(saved == version,
                  fmt::format("{}: a policy of version {}, and this program reads version {}; prepare "
                              "it anew",
                              origin, saved, version));
    refuse_unless(from.at("actions") == actions(),
                  fmt::format("{}: a policy for the actions {}, and this program has {}; "
                              "prepare it anew",
                              origin, from.at("actions").dump(), actions().dump()));
    refuse_unless(from.at("features") == features(),
                  origin + ": a policy for other features than this program's; prepare it anew");

    const policy_reader read{file, origin};
    prepared_parts out;
    out.hidden = from.integer("hidden", 1, widest);
    out.actor = read.tensor("actor", at::kFloat, set_networks(out.hidden).actor_size());
    read.read("adapter_deviation", out.normaliser.adapter_deviation);
    read.read("adapter_mean", out.normaliser.adapter_mean);
    read.read("global_deviation", out.normaliser.global_deviation);
    read.read("global_mean", out.normaliser.global_mean);
    read.read("guard_mean", out.guard.mean);
    read.read("guard_precision", out.guard.precision);
    std::array<double, 1> reach;
    read.read("guard_reach", reach);
    out.guard.reach = reach[0];
    if (out.guard.reach <= 0) read.damaged("'guard_reach' is not above 0");
    read.read_moderate("rule", out.how.numbers);
    if (out.how.numbers[rule::softness] <= 0) read.damaged("'rule' has no softness above 0");
    read.read_moderate("usual", out.usual.log_rates);
    out.fixed = read.schedule_in("schedule");
    out.best_fixed = read.schedule_in("best_schedule");
    out.passed = from.boolean("passed", false);
    out.interval = from.integer("interval", 1, std::numeric_limits<std::int32_t>::max());
    if (!from.at("figures").is_object()) read.damaged("'figures' is no object");
    out.figures = from.at("figures").dump();
    if (compute_digest(out) != from.text("digest")) read.damaged("it is not what was saved");
    prepared_policy made(std::move(out));
    if (const auto words = file.metadata().find(signature_name); words != file.metadata().end()) {
        const auto where = origin + ": " + signature_name;
        const auto signature = parse_object(words->second, where);
        const json_reader signed_by(signature, where);
        try {
            made.signature_ = {privacy::verifying_key::from_hex(signed_by.text("key")), signed_by.text("signature")};
        } catch (const error&) {
            read.damaged(fmt::format("'{}' is no key and signature", signature_name));
        }
        if (!made.signature_->by.accepts(vouched(made), made.signature_->hex))
            read.damaged("its signature is not of this policy");
    }
    return made;
}

namespace {

using nlohmann::json;

std::string names_in(const json& figures, const char* key) {
    return fmt::format("{}", fmt::join(figures.at(key).get<std::vector<std::string>>(), ", "));
}

// Differences of log losses, as ratios.
std::string gain(const char* loss, const json& found, const std::string& than) {
    const double mean = found.at("mean"), error = found.at("standard_error"), wins = found.at("wins");
    const double sign = mean < 0 ? -1 : 1;
    const auto percent = [&](double log_ratio) { return sign * 100 * std::expm1(log_ratio); };
    const auto [least, most] = std::minmax({percent(mean - 1.96 * error), percent(mean + 1.96 * error)});
    return fmt::format(
        "on held-out families its {} was {:.1f} % {} than under {} (95 % of such comparisons: "
        "{:.1f} to {:.1f} %), lower on {:.0f} % of tasks",
        loss, percent(mean), mean < 0 ? "lower" : "higher", than, least, most, 100 * wins);
}

}  // namespace

std::vector<std::string> describe_policy(const prepared_policy& of) {
    const auto& parts = of.parts();
    std::vector<std::string> out = {fmt::format(
        "policy {:.12}…, {}", of.digest(), parts.passed ? "which passed its gate" : "which did not pass its gate")};
    if (const auto signer = of.signer()) out.push_back("signed by key " + signer->fingerprint());
    const auto figures = json::parse(parts.figures);
    try {
        const bool on_runs = figures.at("tasks") == "runs";
        out.push_back(fmt::format("prepared on {}: {} (seed {})",
                                  on_runs ? "noisy quadratics, then short runs on made-up tables"
                                          : "made-up tasks, which are no language models",
                                  names_in(figures, "families"), figures.at("seed").get<std::uint64_t>()));
        out.push_back("held out from its preparation: " + names_in(figures, "held_out"));
        const auto* loss = on_runs ? "held-out loss per token" : "excess loss";
        out.push_back(gain(loss, figures.at("gate").at("policy"), "the schedule that knows the plan"));
        out.push_back(gain(loss, figures.at("gate").at("feedback"),
                           on_runs ? "the mean of its own timetables, which hears nothing of the run"
                                   : "the best timetable of equal search, which sees no run"));
        if (const auto& gate = figures.at("gate"); gate.contains("default_rate"))
            out.push_back(gain(loss, gate["default_rate"], "that schedule at the rates that are chosen"));
        const auto nobody = figures.at("gate").value("nobody", json::object());
        for (const auto& [family, found] : nobody.items())
            out.push_back(gain(loss, found, "the rates that are chosen, where nobody steers: " + family));
        if (const auto asked = figures.value("gates_asked", 1); asked > 1)
            out.push_back(fmt::format("its gate was asked {} times; this is the last answer", asked));
    } catch (const json::exception&) {
        out.emplace_back("its file tells no more of its preparation");
    }
    return out;
}

plan_ranges plan_ranges::of(std::span<const known_plan> plans, std::int64_t interval) {
    require(!plans.empty(), "ranges of no plan");
    plan_ranges out;
    const auto range = [&](auto value) {
        std::array<double, 2> found = {value(plans.front()), value(plans.front())};
        for (const auto& one : plans) found = {std::min(found[0], value(one)), std::max(found[1], value(one))};
        return found;
    };
    out.blocks = range([&](const known_plan& one) { return static_cast<double>(one.steps / interval); });
    out.noise = range([](const known_plan& one) { return one.noise; });
    out.adapters = range([](const known_plan& one) { return static_cast<double>(one.adapters); });
    out.bands = range([](const known_plan& one) { return static_cast<double>(one.bands); });
    return out;
}

nlohmann::json to_json(const plan_ranges& of) {
    return {{"blocks", of.blocks}, {"noise", of.noise}, {"adapters", of.adapters}, {"bands", of.bands}};
}

std::optional<std::string> doubt_policy(const prepared_policy& of) {
    if (!of.parts().passed) return "rl.controller: it did not pass its gate (docs/controller.md)";
    const auto figures = json::parse(of.parts().figures);
    if (figures.contains("tasks") && figures["tasks"] == "runs") return std::nullopt;
    return "rl.controller: its gate knows no language models; some have diverged under a policy that kept its promise "
           "on "
           "other tasks (research/experiments.md)";
}

std::vector<std::string> list_warnings(const prepared_policy& of, const known_plan& plan) {
    std::vector<std::string> out;
    const auto figures = json::parse(of.parts().figures);
    if (const auto doubt = doubt_policy(of)) out.push_back(*doubt);
    const auto outside = [&](const char* name, double value, const std::string& what, const auto& shown) {
        const auto range = figures.value("seen", json::object()).value(name, json::array());
        if (!range.is_array() || range.size() != 2 || !range[0].is_number() || !range[1].is_number()) return;
        const auto least = range[0].get<double>(), most = range[1].get<double>();
        constexpr double rounding = 1e-9;
        if (value >= least - rounding && value <= most + rounding) return;
        out.push_back(fmt::format("rl.controller: this run has {}, the policy was prepared on {}", what,
                                  least == most ? shown(least) : shown(least) + " to " + shown(most)));
    };
    const auto whole = [](double value) { return fmt::format("{:.0f}", value); };
    const auto interval = of.parts().interval, blocks = plan.steps / interval;
    outside("blocks", static_cast<double>(blocks), fmt::format("{} blocks of {} steps", blocks, interval), whole);
    outside("noise", plan.noise, fmt::format("noise z√D/B of {:.3g}", std::exp(plan.noise)),
            [](double value) { return fmt::format("{:.3g}", std::exp(value)); });
    outside("adapters", static_cast<double>(plan.adapters),
            plan.adapters == 1 ? "one adapter" : fmt::format("{} adapters", plan.adapters), whole);
    outside("bands", static_cast<double>(plan.bands),
            plan.bands == 1 ? "independent noise" : fmt::format("noise in {} bands", plan.bands), whole);
    return out;
}

}  // namespace rldp::rl

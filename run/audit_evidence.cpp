#include <nlohmann/json.hpp>

#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "privacy/keys/digest.hpp"
#include "run/audit_evidence.hpp"
#include "run/factories.hpp"

namespace rldp::actors {

namespace {

const std::string tensor_name = "trace", checksum = "checksum";

/// The key of a run is gone by the time that this is read: a checksum tells damage, not forgery.
std::string compute_checksum(const at::Tensor& trace) {
    return privacy::sha256({static_cast<const char*>(trace.data_ptr()), trace.nbytes()});
}

}  // namespace

void write_trace(const std::filesystem::path& path, const at::Tensor& trace) {
    const auto stored = trace.detach().cpu().contiguous();
    models::save_safetensors(path, {{tensor_name, stored}}, {{checksum, compute_checksum(stored)}});
}

at::Tensor read_trace(const std::filesystem::path& path) {
    const models::safetensors_file file(path);
    auto trace = file.tensor(tensor_name).clone();
    const auto found = file.metadata().find(checksum);
    if (found == file.metadata().end() || found->second != compute_checksum(trace))
        refuse(path.string() + ": is damaged; bring back the run's own file");
    return trace;
}

std::vector<double> look_canary(std::size_t number, std::size_t entries) {
    std::vector<double> out(entries);
    out[number % entries] = std::ldexp(1.0, -static_cast<int>(number / entries));
    return out;
}

std::vector<traced_look> read_look_trace(const std::filesystem::path& path) try {
    std::vector<traced_look> out;
    for (const auto& each : nlohmann::json::parse(read_file(path)))
        out.push_back({each.at("look").get<std::int64_t>(), each.at("released").get<std::vector<double>>(),
                       each.at("others").get<std::vector<double>>()});
    for (const auto& each : out)
        refuse_unless(!each.released.empty() && each.released.size() == each.others.size() &&
                          each.released.size() == out.front().released.size(),
                      path.string() + ": looks of different lengths; bring back the run's own file");
    return out;
} catch (const nlohmann::json::exception&) {
    refuse(path.string() + ": is damaged; bring back the run's own file");
}

void add_to_trace(const std::filesystem::path& path, const traced_look& made) {
    auto all = std::filesystem::exists(path) ? read_look_trace(path) : std::vector<traced_look>{};
    all.push_back(made);
    auto out = nlohmann::json::array();
    for (const auto& each : all)
        out.push_back({{"look", each.look}, {"released", each.released}, {"others", each.others}});
    write_file(path, out.dump() + "\n");
}

std::vector<double> look_scores(const std::vector<traced_look>& trace, std::size_t canaries) {
    std::vector<double> out(canaries);
    if (trace.empty() || canaries == 0) return out;
    const auto entries = trace.front().released.size();
    std::vector<double> left(entries);
    for (const auto& each : trace)
        for (std::size_t i = 0; i < entries; ++i)
            left[i] += (each.released[i] - each.others[i]) / static_cast<double>(trace.size());
    const double least = std::ldexp(1.0, -static_cast<int>((canaries - 1) / entries));
    for (std::size_t j = 0; j < canaries; ++j) {
        const auto at = j % entries;
        const double own = look_canary(j, entries)[at];
        // All smaller ones together add less than this one.
        const bool in = left[at] > own - least / 2;
        if (in) left[at] -= own;
        out[j] = in ? own : -own;
    }
    return out;
}

namespace {

// The clip must cut them, whatever the radius: else a missing clip would not show.
constexpr double norm_over_radius = 100;

enum class kind : std::uint64_t { text, gradient, look };

std::vector<bool> coins(const privacy::run_key& key, kind which, std::int64_t count) {
    privacy::random_stream random(key, privacy::purpose::audit, 0, static_cast<std::uint64_t>(which));
    std::vector<bool> out;
    for (std::int64_t i = 0; i < count; ++i) out.push_back(random.next() >> 63 != 0);
    return out;
}

}  // namespace

eval::gradient_canaries make_gradient_canaries(const config::reading_spec& spec, const config::clip_spec& clip,
                                               const models::lora_layout& layout) {
    return {.seed = spec.data.split_seed,
            .segments = make_segments(clip.groups, layout),
            .norm = norm_over_radius * clip.max};
}

eval::membership_record toss_membership(const config::reading_spec& spec, const run_data& data,
                                        const privacy::run_key& key) {
    const auto salt = eval::fresh_salt();
    return {.data_hmac = eval::data_hmac(salt, data.digest),
            .salt = salt,
            .planted = data.planted,
            .canary_in = coins(key, kind::text, spec.audit.canaries),
            .gradient_canary_in = coins(key, kind::gradient, spec.audit.gradient_canaries),
            .look_canary_in = coins(key, kind::look, spec.audit.look_canaries)};
}

void check_membership(const eval::membership_record& who, const config::reading_spec& spec, const run_data& data,
                      const std::string& origin) {
    const bool same = std::ssize(who.canary_in) == spec.audit.canaries &&
                      std::ssize(who.gradient_canary_in) == spec.audit.gradient_canaries &&
                      std::ssize(who.look_canary_in) == spec.audit.look_canaries &&
                      who.data_hmac == eval::data_hmac(who.salt, data.digest);
    refuse_unless(same,
                  origin + ": is of other records or other canaries than this run's; bring back the run's own file");
}

data::token_store training_units(data::token_store train, const std::vector<data::token_unit>& canaries,
                                 const eval::membership_record& who) {
    for (std::size_t i = 0; i < who.canary_in.size(); ++i)
        if (who.canary_in[i]) train.push_back(canaries[i]);
    for (std::size_t i = 0; i < who.gradient_canary_in.size(); ++i)
        if (who.gradient_canary_in[i])
            train.push_back({.records = {}, .gradient_canary = static_cast<std::int64_t>(i)});
    return train;
}

}  // namespace rldp::actors

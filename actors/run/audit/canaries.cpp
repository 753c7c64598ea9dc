#include "actors/run/audit/canaries.hpp"

#include <utility>

#include "actors/run/method.hpp"
#include "config/base/error.hpp"

namespace rldp::actors {

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

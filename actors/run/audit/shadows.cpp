// LiRA: the run's likelihoods beside those of shadow runs, which trained on a random half of the targets.
#include <fmt/format.h>

#include <algorithm>

#include "actors/run/audit/attacks.hpp"
#include "config/base/error.hpp"
#include "eval/audit/statistics/lira.hpp"
#include "eval/report/configuration.hpp"

namespace rldp::actors {

namespace {

struct targets {
    std::vector<eval::split_text> texts;  ///< members first; their whole records, as training cuts them
    std::vector<std::uint64_t> ids;
    std::size_t members = 0;
};

targets list_targets(const audited_run& run) {
    targets out;
    const auto add = [&](const std::vector<data::unit>& units) {
        for (const auto& unit : units) {
            auto text = run.split(unit.records.front(), 0);
            if (!text) continue;
            out.texts.push_back(std::move(*text));
            out.ids.push_back(unit.id);
        }
    };
    add(run.records.pool.members);
    out.members = out.ids.size();
    add(run.records.pool.non_members);
    return out;
}

std::vector<double> compute_log_odds(const eval::attacked_model& model, const targets& of) {
    constexpr double least = 1e-9;  // nats per token: float32 knows no smaller loss but 0
    auto out = eval::end_log_likelihoods(model, of.texts);
    for (std::size_t i = 0; i < out.size(); ++i) {
        const auto tokens = static_cast<double>(of.texts[i].tokens.size() - of.texts[i].end);
        out[i] = eval::log_odds(std::max(least, -out[i] / tokens));
    }
    return out;
}

eval::shadow_model load_shadow(const audited_run& run, const targets& of, const std::filesystem::path& directory) {
    const eval::run_directory where{directory};
    const auto config = eval::read_configuration(where);
    if (!config.audit.shadow || config.data.split_seed != run.spec.data.split_seed)
        refuse(directory.string() + ": is no shadow run of this one");
    const auto loaded = released_adapter(where, run.model);
    eval::shadow_model out;
    out.phi = compute_log_odds({*run.model.base, &loaded.layout, &loaded.flat, run.micro_batch}, of);
    for (const auto id : of.ids)
        out.trained_on.push_back(data::in_shadow(run.spec.data.split_seed, *config.audit.shadow, id));
    return out;
}

eval::separation measure_separation(const std::vector<std::optional<double>>& scores, std::size_t members) {
    std::vector<double> in, out;
    for (std::size_t i = 0; i < scores.size(); ++i)
        if (scores[i]) (i < members ? in : out).push_back(*scores[i]);
    return eval::measure_separation(in, out);
}

}  // namespace

std::optional<eval::shadow_result> compare_with_shadows(const audited_run& run,
                                                        const std::vector<std::filesystem::path>& directories,
                                                        lines& left_out) {
    const auto of = list_targets(run);
    if (of.members == of.ids.size()) return std::nullopt;  // guess_members() has said so
    std::vector<eval::shadow_model> shadows;
    for (const auto& directory : directories) shadows.push_back(load_shadow(run, of, directory));
    const auto own = compute_log_odds(run.tuned(), of);
    eval::shadow_result out{.shadows = std::ssize(shadows),
                            .offline = measure_separation(eval::offline_scores(own, shadows), of.members),
                            .online = measure_separation(eval::online_scores(own, shadows), of.members)};
    if (!out.online.auc)
        left_out.emplace_back(
            "online LiRA: too few shadow runs to have seen targets in and out; give --shadows 4 or more");
    return out;
}

}  // namespace rldp::actors

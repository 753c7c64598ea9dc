#include "eval/preparation/run_search.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "rl/prepare/cma_es.hpp"

namespace rldp::eval {

namespace {

struct progress {
    rl::cma_es search;
    std::vector<double> means;
};

progress begun(const std::filesystem::path& state, const std::vector<double>& start, const run_preparation& terms,
               const run_search& how) {
    if (!std::filesystem::exists(state)) return {{start, how.deviation, how.seed, terms.population}, {}};
    const auto text = read_text(state);
    const auto kept = nlohmann::json::parse(text, nullptr, false);
    if (!kept.is_object() || !kept.contains("search") || !kept.contains("means") || !kept["means"].is_array())
        refuse(state.string() + ": is damaged; remove it, and the search begins anew");
    progress out{rl::cma_es::load(kept["search"].dump(), state.string()), {}};
    for (const auto& one : kept["means"]) out.means.push_back(one.is_number() ? one.get<double>() : std::nan(""));
    if (out.search.mean().size() != start.size() || out.search.population() != terms.population ||
        out.means.size() != out.search.generation())
        refuse(state.string() + ": is of another search; choose another --out, or remove it");
    return out;
}

void keep(const std::filesystem::path& state, const progress& now) {
    write_file(state,
               nlohmann::json{{"search", nlohmann::json::parse(now.search.save())}, {"means", now.means}}.dump());
}

}  // namespace

searched search_on_runs(const std::vector<double>& start,
                        const std::function<rl::prepared_policy(const std::vector<double>&)>& policy_at,
                        const run_preparation& terms, const run_search& how) {
    make_directory(how.out);
    const auto state = how.out / "search.json";
    auto [found, told] = begun(state, start, terms, how);
    while (found.generation() < terms.generations) {
        const auto number = found.generation();
        const auto tasks = draw_runs(terms.prepared, terms, how.seed, number * terms.tasks, terms.tasks);
        std::vector<rl::prepared_policy> all;
        for (const auto& point : found.ask()) all.push_back(policy_at(point));
        const auto place = how.out / fmt::format("generation-{}", number);
        const auto losses = compute_losses(all, tasks, {place, how.jobs});
        std::vector<double> means;
        for (std::size_t p = 0; p < all.size(); ++p) {
            const auto first = losses.begin() + static_cast<std::ptrdiff_t>(p * tasks.size());
            means.push_back(std::accumulate(first, first + static_cast<std::ptrdiff_t>(tasks.size()), 0.0) /
                            static_cast<double>(tasks.size()));
        }
        found.tell(means);
        told.push_back(std::accumulate(means.begin(), means.end(), 0.0) / static_cast<double>(means.size()));
        keep(state, {found, told});
        std::filesystem::remove_all(place);
        how.told(number, told.back());
    }
    return {found.mean(), told};
}

}  // namespace rldp::eval

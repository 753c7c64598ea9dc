#include "eval/preparation/run_search.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "config/base/json_reader.hpp"
#include "rl/prepare/cma_es.hpp"

namespace rldp::eval {

namespace {

rl::cma_es begun(const std::filesystem::path& state, const std::vector<double>& start, const run_preparation& terms,
                 const run_search& how) {
    if (!std::filesystem::exists(state)) return {start, how.deviation, how.seed, terms.population};
    auto out = rl::cma_es::load(read_text(state), state.string());
    if (out.mean().size() != start.size() || out.population() != terms.population)
        refuse(state.string() + ": is of another search; choose another --out, or remove it");
    return out;
}

}  // namespace

std::vector<double> search_on_runs(const std::vector<double>& start,
                                   const std::function<rl::prepared_policy(const std::vector<double>&)>& policy_at,
                                   const run_preparation& terms, const run_search& how) {
    make_directory(how.out);
    const auto state = how.out / "search.json";
    auto found = begun(state, start, terms, how);
    while (found.generation() < terms.generations) {
        const auto number = found.generation();
        const auto tasks = draw_runs(terms.prepared, terms, how.seed, number * terms.tasks, terms.tasks);
        std::vector<rl::prepared_policy> all;
        for (const auto& point : found.ask()) all.push_back(policy_at(point));
        const auto place = how.out / fmt::format("generation-{}", number);
        const auto losses = losses_of(all, tasks, {place, how.jobs});
        std::vector<double> means;
        for (std::size_t p = 0; p < all.size(); ++p) {
            const auto first = losses.begin() + static_cast<std::ptrdiff_t>(p * tasks.size());
            means.push_back(std::accumulate(first, first + static_cast<std::ptrdiff_t>(tasks.size()), 0.0) /
                            static_cast<double>(tasks.size()));
        }
        found.tell(means);
        write_file(state, found.save());
        std::filesystem::remove_all(place);
        how.told(number, std::accumulate(means.begin(), means.end(), 0.0) / static_cast<double>(means.size()));
    }
    return found.mean();
}

}  // namespace rldp::eval

#include "eval/preparation/real_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "eval/grid/cell_files.hpp"
#include "eval/grid/run.hpp"
#include "eval/preparation/random_template.hpp"
#include "rl/prepare/splitmix.hpp"

namespace rldp::eval {

namespace {

constexpr std::int64_t first_world = 1000;  // lower ones are left to test beds and to practice by hand

run_task draw(const run_family& from, const run_preparation& terms, std::uint64_t seed, std::size_t number) {
    rl::splitmix random(seed, number);
    run_task out{.base = from.base,
                 .set = from.set,
                 .rate = 0,
                 .name = fmt::format("{}-{}", from.name, number),
                 .row_template = {}};
    for (const auto& one : from.drawn)
        out.set.push_back(one.name + "=" +
                          one.values[static_cast<std::size_t>(random.whole(0, std::ssize(one.values) - 1))]);
    const auto world = random.whole(first_world, 1'000'000);
    const double rate = terms.lr * random.log_uniform(1 / terms.offset, terms.offset);
    out.rate = rate;
    const auto more = {fmt::format("data.path=\"synthetic:{}@{}\"", from.records, world),
                       fmt::format("data.split_seed={}", world),
                       fmt::format("seed={}", world),
                       fmt::format("train.lr={:.6g}", rate),
                       std::string("noise.insecure_reproducible=true"),
                       std::string("noise.allocation=\"shares\""),
                       std::string("rl.state=\"prepared\""),
                       std::string("rl.interval=null"),  // the policy's own
                       std::string("rl.warmup=null"),
                       std::string("monitor.address=null")};
    out.set.insert(out.set.end(), more.begin(), more.end());
    if (from.random_template) out.row_template = random_template(random);
    return out;
}

std::string make_run_id(std::size_t policy, const run_task& task) {
    return fmt::format("policy{}-{}", policy, task.name);
}

double compute_loss(const cell_files& files) {
    const auto done = finished_summary(files);
    if (!done) throw error(errc::failed, "a run of the preparation failed; its log is " + files.log().string());
    const double kept = done->perplexity_after.value_or(done->perplexity_before);
    const double before = std::log(done->perplexity_before), after = std::log(kept);
    return std::log(std::isfinite(after) ? std::clamp(after, 1e-9, before) : before);
}

}  // namespace

std::vector<run_task> draw_runs(const std::vector<run_family>& from, const run_preparation& terms, std::uint64_t seed,
                                std::size_t first, std::size_t count) {
    std::vector<run_task> out;
    out.reserve(count);
    for (auto i = first; i < first + count; ++i) out.push_back(draw(from[i % from.size()], terms, seed, i));
    return out;
}

std::vector<double> compute_losses(std::span<const rl::prepared_policy> policies, std::span<const run_task> tasks,
                              const run_place& where) {
    make_directory(where.out);
    const auto folder_of_all = std::filesystem::absolute(where.out);
    const auto template_of = [&](const run_task& one) { return folder_of_all / (one.name + ".json"); };
    for (const auto& one : tasks)
        if (!one.row_template.empty()) write_file(template_of(one), one.row_template);
    std::map<std::filesystem::path, std::vector<cell>> by_base;  // a call of run_cells() has one
    std::vector<std::pair<std::filesystem::path, std::string>> order;
    for (std::size_t p = 0; p < policies.size(); ++p) {
        const auto file = folder_of_all / fmt::format("policy-{}.safetensors", p);
        policies[p].save(file);
        for (const auto& one : tasks) {
            cell made{.id = make_run_id(p, one), .at = {}, .overrides = one.set};
            made.overrides.push_back(fmt::format("rl.controller=\"{}\"", file.string()));
            if (!one.row_template.empty())
                made.overrides.push_back(fmt::format("data.template=\"{}\"", template_of(one).string()));
            order.emplace_back(one.base, made.id);
            by_base[one.base].push_back(std::move(made));
        }
    }
    std::map<std::filesystem::path, std::filesystem::path> folder;
    for (const auto& [base, cells] : by_base) {
        folder[base] = where.out / base.stem();
        grid_directory{folder[base]}.create();
        const bool all = run_cells(cells, {.config = base, .set = {}, .out = folder[base], .jobs = where.jobs},
                                   {.on_end = [](const auto&, auto, auto) {}, .on_tick = [](const auto&, auto) {}});
        if (!all) throw error(errc::interrupted, "prepare-controller: interrupted; call it again to go on");
    }
    std::vector<double> out;
    out.reserve(order.size());
    for (const auto& [base, id] : order) out.push_back(compute_loss({folder[base], id}));
    return out;
}

std::vector<rate_path> read_paths(std::size_t policy, std::span<const run_task> tasks, const run_preparation& terms,
                                std::size_t count, const std::filesystem::path& out) {
    std::vector<rate_path> all;
    for (const auto& one : tasks.first(std::min(count, tasks.size()))) {
        const cell_files files{out / one.base.stem(), make_run_id(policy, one)};
        const auto lines = read_metrics(files.run().metrics());
        rate_path path{one.name, one.rate / terms.lr, {}};
        for (const auto& line : lines)
            path.factors.emplace_back(static_cast<double>(line.step) / static_cast<double>(lines.back().step),
                                      line.steered ? line.steered->lr_factor : 1);
        all.push_back(std::move(path));
    }
    return all;
}

}  // namespace rldp::eval

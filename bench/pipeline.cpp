// The actor pipeline against the same work in a plain loop, and with SAC learning on against off: medians over
// alternating runs, each in a process of its own so that peak memory is its own. Prints JSON.
//
//   build/bench/bench_pipeline config/demo.json --set train.steps=60 --repeats 5
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <caf/all.hpp>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "actors/hub.hpp"
#include "actors/supervisor.hpp"
#include "actors/threads.hpp"
#include "base/error.hpp"
#include "bench/child.hpp"
#include "bench/plain_loop.hpp"
#include "config/config.hpp"

namespace {

using namespace rldp;
using clock_type = std::chrono::steady_clock;

double milliseconds(clock_type::duration span) {
    return std::chrono::duration<double, std::milli>(span).count();
}

/// Evaluation is left out on both sides: one held-out record, and none between start and end.
config::run_config bench_config(const std::string& file, std::vector<std::string> set) {
    set.insert(set.end(), {"train.eval_every=1000000", "train.eval_records=1", "eval.publish=none",
                           "noise.insecure_reproducible=true"});
    return config::load(file, set);
}

double run_plain(const config::run_config& config, const std::filesystem::path& directory) {
    auto opened = actors::create_run(config, directory);
    const auto begin = clock_type::now();
    bench::run_plain(opened);
    return milliseconds(clock_type::now() - begin) / static_cast<double>(opened.facts->plan.steps);
}

double run_pipeline(const config::run_config& config, const std::filesystem::path& directory) {
    auto opened =
        actors::on_passing_thread(actors::all_threads(), [&] { return actors::create_run(config, directory); });
    const auto steps = static_cast<double>(opened.facts->plan.steps);
    actors::system_config settings;
    caf::actor_system system(settings);
    const caf::scoped_actor self(system);
    const auto hub = system.spawn(actors::make_hub, std::string("bench"), actors::show{});
    const auto begin = clock_type::now();
    const auto supervisor = system.spawn(actors::make_supervisor, opened, hub);
    bool done = false;
    self->request(supervisor, caf::infinite, messages::run_atom::value)
        .receive([&](const actors::outcome&) { done = true; }, [](const caf::error&) {});
    const auto span = milliseconds(clock_type::now() - begin);
    self->send_exit(supervisor, caf::exit_reason::user_shutdown);
    self->send_exit(hub, caf::exit_reason::user_shutdown);
    if (!done) throw error(errc::failed, "the pipeline failed");
    return span / steps;
}

/// Milliseconds per step over the whole loop; reading and planning are left out.
template <class Work>
bench::child_result in_child(Work work) {
    return bench::in_child([&] {
        actors::share_heap();  // as every run does
        return std::vector{work()};
    });
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App program("Actor pipeline against plain loop");
    std::string file;
    std::vector<std::string> set;
    int repeats = 5;
    program.add_option("config", file)->required();
    program.add_option("--set", set)->allow_extra_args(false);
    program.add_option("--repeats", repeats)->check(CLI::Range(1, 100));
    CLI11_PARSE(program, argc, argv);
    try {
        const auto config = bench_config(file, set);
        auto without = config;
        without.rl.batch = without.rl.replay;  // decisions go on, but the replay never holds a batch to learn from
        const auto scratch = std::filesystem::temp_directory_path() / fmt::format("rldp-bench-{}", getpid());
        std::map<std::string, std::vector<double>> time, memory;
        for (int i = 0; i < repeats; ++i) {
            const auto fresh = [&](const std::string& kind) { return scratch / fmt::format("{}-{}", kind, i); };
            const auto note = [&](const std::string& kind, const bench::child_result& m) {
                time[kind].push_back(m.figures.at(0));
                memory[kind].push_back(m.peak_mebibytes);
            };
            note("plain", in_child([&] { return run_plain(config, fresh("plain")); }));
            note("pipeline", in_child([&] { return run_pipeline(config, fresh("pipeline")); }));
            note("pipeline_without_learning", in_child([&] { return run_pipeline(without, fresh("without")); }));
        }
        std::filesystem::remove_all(scratch);
        using bench::median;
        nlohmann::json out;
        for (const auto& [kind, values] : time)
            out[kind] = {
                {"milliseconds_per_step", median(values)}, {"peak_mebibytes", median(memory[kind])}, {"runs", values}};
        out["ratio_pipeline_to_plain"] = median(time["pipeline"]) / median(time["plain"]);
        out["ratio_learning_on_to_off"] = median(time["pipeline"]) / median(time["pipeline_without_learning"]);
        out["ratio_pipeline_to_plain_least"] = bench::least(time["pipeline"]) / bench::least(time["plain"]);
        out["ratio_learning_on_to_off_least"] =
            bench::least(time["pipeline"]) / bench::least(time["pipeline_without_learning"]);
        out["ratio_memory"] = median(memory["pipeline"]) / median(memory["plain"]);
        fmt::print("{}\n", out.dump(2));
        return 0;
    } catch (const error& e) {
        fmt::print(stderr, "bench: {}\n", e.what());
        return static_cast<int>(e.code());
    }
}

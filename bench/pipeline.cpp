// The actor pipeline against the same work in a plain loop, and with SAC learning on against off: medians over
// alternating runs, each in a process of its own so that peak memory is its own. Prints JSON.
//
//   build/bench/bench_pipeline config/demo.json --set train.steps=60 --repeats 5
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
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
#include "bench/plain_loop.hpp"
#include "config/config.hpp"
#include "config/error.hpp"

namespace {

using namespace rldp;
using clock_type = std::chrono::steady_clock;

struct measured {
    double milliseconds_per_step;  ///< over the whole loop; reading and planning are left out
    double peak_mebibytes;
};

double milliseconds(clock_type::duration span) {
    return std::chrono::duration<double, std::milli>(span).count();
}

/// Evaluation is left out on both sides: one held-out record, and none between start and end.
config::run_config bench_config(const std::string& file, std::vector<std::string> set) {
    set.insert(set.end(), {"train.eval_every=1000000", "train.eval_records=1", "noise.insecure_reproducible=true"});
    return config::load(file, set);
}

double run_plain(const config::run_config& config, const std::filesystem::path& directory) {
    auto opened = actors::create_run(config, directory);
    const auto begin = clock_type::now();
    bench::run_plain(opened.open, opened.closed);
    return milliseconds(clock_type::now() - begin) / static_cast<double>(opened.open.plan.steps);
}

double run_pipeline(const config::run_config& config, const std::filesystem::path& directory) {
    auto opened = actors::create_run(config, directory);
    const auto steps = static_cast<double>(opened.open.plan.steps);
    caf::actor_system_config settings;
    settings.set("logger.file-verbosity", caf::atom("quiet"));
    caf::actor_system system(settings);
    const caf::scoped_actor self(system);
    const auto hub = system.spawn(actors::hub, std::string("bench"));
    const auto run = std::make_shared<actors::session>(std::move(opened.open));
    const auto begin = clock_type::now();
    const auto supervisor = system.spawn(actors::supervisor, run, std::move(opened.closed), hub);
    bool done = false;
    self->request(supervisor, caf::infinite, messages::run_atom::value)
        .receive([&](const messages::outcome&) { done = true; }, [](const caf::error&) {});
    const auto span = milliseconds(clock_type::now() - begin);
    self->send_exit(supervisor, caf::exit_reason::user_shutdown);
    self->send_exit(hub, caf::exit_reason::user_shutdown);
    if (!done) throw error(errc::failed, "the pipeline failed");
    return span / steps;
}

/// Runs `work` in a child and brings back its figure and its peak memory.
template <class Work>
measured in_child(Work work) {
    int ends[2];
    if (pipe(ends) != 0) throw error(errc::failed, "bench: no pipe");
    const pid_t child = fork();
    if (child == 0) {
        double figure = -1;
        try {
            actors::share_heap();  // as every run does
            figure = work();
        } catch (const std::exception& e) {
            fmt::print(stderr, "bench: {}\n", e.what());
        }
        const bool sent = write(ends[1], &figure, sizeof figure) == sizeof figure;
        _exit(sent && figure >= 0 ? 0 : 1);
    }
    close(ends[1]);
    measured out{};
    const bool received = read(ends[0], &out.milliseconds_per_step, sizeof(double)) == sizeof(double);
    close(ends[0]);
    int status = 0;
    rusage usage{};
    wait4(child, &status, 0, &usage);
    if (!received || status != 0) throw error(errc::failed, "bench: a run failed");
    out.peak_mebibytes = static_cast<double>(usage.ru_maxrss) / 1024;
    return out;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
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
            const auto note = [&](const std::string& kind, measured m) {
                time[kind].push_back(m.milliseconds_per_step);
                memory[kind].push_back(m.peak_mebibytes);
            };
            note("plain", in_child([&] { return run_plain(config, fresh("plain")); }));
            note("pipeline", in_child([&] { return run_pipeline(config, fresh("pipeline")); }));
            note("pipeline_without_learning", in_child([&] { return run_pipeline(without, fresh("without")); }));
        }
        std::filesystem::remove_all(scratch);
        nlohmann::json out;
        for (const auto& [kind, values] : time)
            out[kind] = {
                {"milliseconds_per_step", median(values)}, {"peak_mebibytes", median(memory[kind])}, {"runs", values}};
        out["ratio_pipeline_to_plain"] = median(time["pipeline"]) / median(time["plain"]);
        out["ratio_learning_on_to_off"] = median(time["pipeline"]) / median(time["pipeline_without_learning"]);
        out["ratio_memory"] = median(memory["pipeline"]) / median(memory["plain"]);
        fmt::print("{}\n", out.dump(2));
        return 0;
    } catch (const error& e) {
        fmt::print(stderr, "bench: {}\n", e.what());
        return static_cast<int>(e.code());
    }
}

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <boost/asio.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <list>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>

#include "base/directories.hpp"
#include "base/files.hpp"
#include "eval/experiments/run.hpp"
#include "run/artifacts/run_directory.hpp"

namespace rldp::eval {
namespace {

namespace fs = std::filesystem;

// The run's directory and the unnamed ones that a run makes before its ledger begins.
void clear_place(const cell_files& files) {
    fs::remove_all(files.run().root);
    staged_directory::remove_abandoned_of(files.run().root);
}

void share(std::vector<std::string>& arguments, const run_settings& how) {
    arguments.insert(arguments.end(), {"--corpora", grid_directory{how.out}.corpora().string(), "--json", "--quiet"});
    if (how.account) arguments.insert(arguments.end(), {"--account", how.out.string()});
}

std::vector<std::string> arguments_for(const cell& one, const cell_files& files, const run_settings& how) {
    std::vector<std::string> out = {"run", how.config.string()};
    for (const auto* overrides : {&how.set, &one.overrides})
        for (const auto& text : *overrides) out.insert(out.end(), {"--set", text});
    out.insert(out.end(),
               {"--out", files.run().root.string(), "--lessons", grid_directory{how.out}.lessons().string()});
    share(out, how);
    return out;
}

// The last whole line that names a step: an evaluation's line comes after those of later steps.
std::int64_t last_step(const fs::path& path) {
    constexpr std::uintmax_t tail = 1 << 16;
    if (!fs::exists(path)) return 0;
    input_file file(path);
    file.seek(file.size() - std::min(file.size(), tail));
    std::string text(tail, '\0');
    text.resize(file.read(text.data(), text.size()));
    std::istringstream in(text);
    std::int64_t last = 0;
    for (std::string line; std::getline(in, line);) {
        const auto parsed = nlohmann::json::parse(line, nullptr, false);
        if (parsed.is_object() && parsed.contains("step") && parsed["step"].is_number_integer())
            last = std::max(last, parsed["step"].get<std::int64_t>());
    }
    return last;
}

}  // namespace

bool lacks_audit(const cell_files& files, const run_settings& how) {
    return how.audit && finished_summary(files) && !fs::exists(files.run().audit_json());
}

cell_start choose_start(const cell& one, const cell_files& files, const run_settings& how) {
    if (lacks_audit(files, how)) return {start_kind::audit, {"audit", files.run().root.string(), "--quiet"}};
    switch (read_state(files.run())) {
        case run_state::none:
            clear_place(files);
            return {start_kind::anew, arguments_for(one, files, how)};
        case run_state::over:
            return {start_kind::keep, {}};
        case run_state::lost:
            return {start_kind::impossible, {}};
        case run_state::unfinished:
        case run_state::ending:
            break;
    }
    cell_start out{start_kind::resume, {"run", "--resume", files.run().root.string()}};
    share(out.arguments, how);
    return out;
}

double step_counter::fraction() {
    if (planned_ == 0)
        if (const auto committed = read_commitment(files_)) planned_ = committed->steps;
    if (planned_ == 0) return 0;
    step_ = std::max(step_, last_step(files_.run().metrics()));
    return std::min(1.0, static_cast<double>(step_) / static_cast<double>(planned_));
}

}  // namespace rldp::eval

#if __has_include(<boost/process/v1/extend.hpp>)  // since Boost 1.86
#include <boost/process/v1.hpp>
#include <boost/process/v1/extend.hpp>
namespace process = boost::process::v1;
#else
#include <boost/process.hpp>
#include <boost/process/extend.hpp>
namespace process = boost::process;
#endif

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "base/sealed_input.hpp"
#include "base/system.hpp"
#include "data/sources/piped_rows.hpp"
#include "eval/experiments/progress_file.hpp"

namespace rldp::eval {
namespace {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;

struct file_closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using file = std::unique_ptr<std::FILE, file_closer>;

file open_file(const std::filesystem::path& path, const char* mode) {
    file opened(std::fopen(path.c_str(), mode));
    if (!opened) storage_fault(path, "can't be opened", errno);
    return opened;
}

// A group of its own: the terminal's Ctrl-C reaches this process alone, which passes it on once (a second one would end
// a run at once). A child does not outlive this process: it is told to save and end.
void stand_apart(pid_t parent) {
    ::setpgid(0, 0);
    end_with_parent(parent);
}

process::environment environment_for(int jobs) {
    process::environment own = boost::this_process::environment();
    if (jobs == 1 && own.count("OMP_NUM_THREADS") > 0) return own;
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    own["OMP_NUM_THREADS"] = std::to_string(std::max(1, cores / jobs));
    return own;
}

process::child start_child(const run_settings& how, const cell_start& start, const cell_files& files) {
    const auto output = open_file(files.partial_output(), "we");
    const auto input = open_file(input_of_children(), "re");
    const auto log = open_file(files.log(), start.how == start_kind::anew ? "we" : "ae");
    return process::child(
        process::exe = how.program.string(), process::args = start.arguments, environment_for(how.jobs),
        process::std_in<input.get(), process::std_out> output.get(), process::std_err > log.get(),
        process::extend::on_exec_setup = [parent = ::getpid()](auto&) { stand_apart(parent); });
}

std::string describe_exit(int status) {
    if (WIFSIGNALED(status))
        return fmt::format("ended by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
    return fmt::format("exit status {}", WEXITSTATUS(status));
}

// A child that is told to stop before it can save was not further than its start.
bool was_interrupted(int status) {
    if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM;
    return WEXITSTATUS(status) == static_cast<int>(errc::interrupted);
}

struct job {
    const cell* which;
    cell_files files;
    start_kind how;
    process::child child;
    clock::time_point start = clock::now();
    step_counter steps{files};
};

class pool {
  public:
    pool(const std::vector<cell>& cells, const run_settings& how, const watcher& told)
        : cells_(cells), how_(how), told_(told), progress_(how.out, cells) {}

    bool run() {
        await_signal();
        await_child();
        await_second();
        fill();
        events_.run();
        return !stopping_;
    }

  private:
    void fill() {
        while (!stopping_ && jobs_.size() < static_cast<std::size_t>(how_.jobs) && next_ < cells_.size())
            begin(cells_[next_++]);
        if (!jobs_.empty()) return;
        boost::system::error_code ignored;
        for (auto* set : {&interrupts_, &children_}) set->cancel(ignored);
        second_.cancel();
    }

    void say_ended(const cell& which, cell_state how, bool kept) {
        // Whether an audit failed concerns the owner only.
        progress_.ends(which.id, finished_summary({how_.out, which.id}) ? cell_state::done : how);
        told_.on_end(which, how, kept);
    }

    void begin(const cell& one) {
        const cell_files files{how_.out, one.id};
        const auto start = choose_start(one, files, how_);
        if (start.how == start_kind::keep) {
            remove_file(files.partial_output());  // of a parent that was killed
            return say_ended(one, cell_state::done, true);
        }
        if (start.how == start_kind::impossible) return say_ended(one, cell_state::failed, true);
        auto history = read_history(files);
        ++history.starts;
        history.failure.reset();
        write_history(files, history);
        try {
            jobs_.push_back({&one, files, start.how, start_child(how_, start, files)});
            if (start.how != start_kind::audit) progress_.begins(one.id);
        } catch (const process::process_error& reason) {
            history.failure = fmt::format("can't start {}: {}", how_.program.string(), reason.what());
            write_history(files, history);
            say_ended(one, cell_state::failed, false);
        }
    }

    void end(job& one) {
        const int status = one.child.native_exit_code();
        auto history = read_history(one.files);
        history.seconds += std::chrono::duration<double>(clock::now() - one.start).count();
        const bool interrupted = was_interrupted(status);
        const bool ran = !interrupted && finished_summary(one.files).has_value();
        if (one.how == start_kind::audit)
            remove_file(one.files.partial_output());  // what it printed stands in its report
        else if (ran)
            put_in_place(one.files.partial_output(), one.files.output());
        const bool unaudited = ran && lacks_audit(one.files, how_);
        const bool failed = !interrupted && (!ran || (unaudited && one.how == start_kind::audit));
        if (failed) history.failure = describe_exit(status);
        write_history(one.files, history);
        if (unaudited && !failed && !stopping_) return begin(*one.which);
        say_ended(*one.which,
                  failed              ? cell_state::failed
                  : ran && !unaudited ? cell_state::done
                                      : cell_state::unfinished,
                  false);
    }

    // SIGCHLD may stand for several children, so all are asked; each is asked by its own id.
    void reap() {
        for (auto one = jobs_.begin(); one != jobs_.end();) {
            std::error_code ignored;
            if (one->child.running(ignored)) {
                ++one;
                continue;
            }
            end(*one);
            one = jobs_.erase(one);
        }
        fill();
    }

    void await_child() {
        children_.async_wait([this](const auto& cancelled, int) {
            if (cancelled) return;
            await_child();
            reap();
        });
    }

    void await_signal() {
        interrupts_.async_wait([this](const auto& cancelled, int signal) {
            if (cancelled) return;
            stopping_ = true;
            await_signal();
            for (auto& one : jobs_) ::kill(one.child.id(), signal);
            fill();
        });
    }

    void await_second() {
        second_.expires_after(std::chrono::seconds(1));
        second_.async_wait([this](const auto& cancelled) {
            if (cancelled) return;
            std::vector<cell_progress> running;
            for (auto& one : jobs_) running.push_back({one.which->id, one.steps.fraction()});
            told_.on_tick(running, cells_.size() - next_);
            await_second();
        });
    }

    const std::vector<cell>& cells_;
    const run_settings& how_;
    const watcher& told_;
    progress_file progress_;
    std::size_t next_ = 0;
    bool stopping_ = false;
    asio::io_context events_;
    asio::signal_set interrupts_{events_, SIGINT, SIGTERM}, children_{events_, SIGCHLD};
    asio::steady_timer second_{events_};
    std::list<job> jobs_;
};

}  // namespace

std::filesystem::path find_cell_program() {
    const std::filesystem::path running = "/proc/self/exe";
    std::error_code unknown;
    const auto named = std::filesystem::read_symlink(running, unknown);
    return named.filename() == "rldp-research" ? named.parent_path() / "rldp-torch" : running;
}

void take_piped_rows(const run_settings& how) {
    if (is_piped(load_configuration(how.config, how.set).data.path)) data::standard_rows();
}

bool run_cells(const std::vector<cell>& cells, const run_settings& how, const watcher& told) {
    grid_directory{how.out}.create();
    const bool ended = pool(cells, how, told).run();
    if (ended) staged_directory::remove_abandoned(grid_directory{how.out}.corpora());  // another grid process may go on
    return ended;
}

}  // namespace rldp::eval

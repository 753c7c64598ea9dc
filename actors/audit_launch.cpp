#include "actors/audit_launch.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "actors/auditor.hpp"
#include "actors/failure.hpp"
#include "actors/threads.hpp"
#include "actors/trusted_log.hpp"
#include "run/run_end.hpp"

namespace rldp::actors {

namespace {

/// Names the state that a report was made of.
std::filesystem::file_time_type read_checkpoint_time(const eval::run_directory& where) {
    std::error_code gone;  // between the run's end and our look
    return std::filesystem::last_write_time(where.checkpoint(), gone);
}

/// Until a checkpoint is newer than `last`, or the run is over. Looks once a second, for the run is another process.
void wait_for_change(const eval::run_directory& where, std::filesystem::file_time_type last) {
    while (!is_over(where) && read_checkpoint_time(where) == last) std::this_thread::sleep_for(std::chrono::seconds(1));
}

}  // namespace

void launch_audit(const eval::run_directory& where, const audit_options& options) {
    share_heap();
    auto run = on_passing_thread(all_threads(), [&] {
        return trusted(std::make_shared<audited_run>(open_audited(where.root, options.during_run, options.overrides)));
    });
    system_config configuration;
    caf::actor_system system(configuration);
    const caf::scoped_actor self(system);
    const auto auditor =
        self->spawn<caf::detached>(make_auditor, std::move(run), options.shadows, open_trusted_log(where.log()));
    // Whatever happens, the auditor ends with this function: the system's destructor waits for it.
    const std::shared_ptr<void> ending(nullptr,
                                       [&](void*) { self->send_exit(auditor, caf::exit_reason::user_shutdown); });
    const auto report = [&] {
        std::optional<error> failed;
        self->request(auditor, caf::infinite, audit_atom::value)
            .receive([](const std::string&) {}, [&](caf::error& reason) { failed = to_exception(reason); });
        if (failed) throw *failed;
        options.on_report();
    };
    bool more = true;
    while (more) {
        const auto seen = read_checkpoint_time(where);
        const bool last = is_over(where);
        report();
        if (!last) wait_for_change(where, seen);
        more = !last;
    }
}

}  // namespace rldp::actors

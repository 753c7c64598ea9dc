#pragma once
// TensorBoard's scalars: a file of TFRecords, each an Event (tensorflow/core/util/event.proto) of one step.
#include <filesystem>
#include <optional>
#include <vector>

#include "base/files.hpp"
#include "run/artifacts/metrics.hpp"

namespace rldp::monitor {

/// The bytes that say of what version a file of events is: its first record.
std::string event_file_head();
/// One record: each quantity that the line has. Its wall time is the step, in seconds: no clock of the run is told.
/// Empty where there is nothing to say.
std::string make_event(const eval::metrics_line& line);

/// DIR/events.out.tfevents.rldp while a run goes on. One writer; errors: as append_file.
class event_log {
  public:
    /// Replaces the file by the lines that a resumed run already has.
    event_log(const std::filesystem::path& directory, const std::vector<eval::metrics_line>& known);
    void append(const eval::metrics_line& line) { file_->append_unsynced(make_event(line)); }
    /// By these lines, which are all: at a run's end in the order of steps, as metrics_log::sort() says.
    void replace(const std::vector<eval::metrics_line>& lines);

  private:
    std::filesystem::path path_;
    std::optional<append_file> file_;
};

}  // namespace rldp::monitor

#pragma once
// What watches runs from another program: those of a dashboard, or the one that --monitor shows.
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "monitor/view/run_view.hpp"

namespace rldp::monitor {

class interruption;

struct watched_place {
    bool tls = false;
    std::string host;
    std::string port;
    std::string prefix;  ///< of all paths, such as /rldp behind a proxy; empty: none
    /// PEM: the certificate itself, where it is self-signed, or its authority's; absent: those that the system trusts.
    std::optional<std::filesystem::path> authority = {};
    std::string token = {};  ///< empty: none
};

/// "https://lab.example:8787/prefix", "http://127.0.0.1:8787", and as --monitor has it "127.0.0.1:4242". Errors:
/// bad_input for what is no such address, and for http:// to another machine, which anyone on the way could read.
watched_place parse_place(const std::string& address);
/// Whether an address is that of one run, as --monitor has it.
bool is_of_one_run(const std::string& address);
/// The viewer's token of a file that `rldp key new --tokens` wrote, or that holds one token alone. Errors: bad_input.
std::string read_viewer_token(const std::filesystem::path& file);

class run_reader {
  public:
    /// `silence`: so long without a byte, and the stream is taken for dead; a server says something every five seconds.
    /// Errors: bad_input for an authority that can't be read.
    explicit run_reader(watched_place where, std::chrono::milliseconds silence = std::chrono::seconds(15));
    ~run_reader();
    run_reader(const run_reader&) = delete;
    run_reader& operator=(const run_reader&) = delete;

    /// Connects and reads until the stream ends, fails or falls silent; answers why, in a phrase ("the run ended").
    /// Calls `on_row` with every run that is there, as each changes, on this thread; lets its exceptions pass. One call
    /// at a time.
    std::string follow(const std::function<void(const run_view&)>& on_row);
    /// Ends this follow() and all later ones. From any thread.
    void stop();

    /// What follow() answers where nobody listens, where what listens says nothing any more, and after stop().
    static constexpr const char* nobody = "no run is there";
    static constexpr const char* silent = "the run fell silent";
    static constexpr const char* stopped = "stopped";

  private:
    class encryption;

    const watched_place where_;
    const std::chrono::milliseconds silence_;
    const std::unique_ptr<interruption> interruption_;
    const std::unique_ptr<encryption> encryption_;
};

}  // namespace rldp::monitor

#pragma once
// The HTTP server of dashboards and of what `rldp monitor` attaches to, and how it is asked for. It has a thread of its
// own, on which runs are followed and requests answered. Nothing that a peer does reaches a run but an operator's stop.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "monitor/http/access.hpp"
#include "monitor/watch/catalog.hpp"

namespace rldp::monitor {

struct tls_files {
    std::filesystem::path certificate, key;                 ///< PEM
    std::optional<std::filesystem::path> client_authority;  ///< whose certificates clients must show
};

struct http_config {
    std::string asked_by = "dashboard";  ///< what refusals name
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;  ///< 0: any free one
    std::optional<tls_files> tls;
    std::optional<std::filesystem::path> token_file;
    std::vector<std::string> hosts;  ///< that a Host header may name, besides the address itself
    http_limits limits;
};

class http_server {
  public:
    /// Follows the runs below `roots`. `stop`: as router's. Errors: bad_input, one line, for a port in use or
    /// forbidden, an address that is not this machine's, one beyond the loopback without TLS and tokens, certificates
    /// and keys that can't be read or don't match or have expired, roots that are no directories.
    http_server(const http_config& config, const std::vector<std::filesystem::path>& roots, std::string program_version,
                std::function<bool(const std::string&)> stop = {});
    ~http_server();
    http_server(const http_server&) = delete;
    http_server& operator=(const http_server&) = delete;

    /// Also the runs below `root`; nothing where it is no directory. Never waits; from any thread.
    void follow(const std::filesystem::path& root);
    /// Name, state and steps of the one run that this process makes, by its own word: it knows its state better than
    /// its files. Never waits; from any thread.
    void tell(const run_view& now);
    /// The same of a table that this process makes of the one run that it follows.
    void tell(table_progress now);
    std::uint16_t port() const;
    /// Where a browser finds it.
    std::string address() const;

  private:
    class loop;
    std::unique_ptr<loop> loop_;
};

// Options. How a server is asked for: on a command line, or by the keys monitor.* of a configuration.

struct http_options {
    std::string address = {};                                                        ///< [HOST:]PORT
    std::string certificate = {}, key = {}, client_authority = {}, token_file = {};  ///< paths; empty: none
    std::vector<std::string> hosts = {};                                             ///< http_config's
};

/// Of a dashboard. The address is "8787", "0.0.0.0:8787", "[::1]:8787". Errors: bad_input for an address that is none,
/// a certificate without a key or the reverse, an authority without both.
http_config to_dashboard_config(const http_options& given);

/// Of what `rldp monitor` attaches to, "127.0.0.1:4242": this machine's alone. Errors: bad_input for anything but a
/// loopback HOST:PORT.
http_config to_monitor_config(const std::string& address);

}  // namespace rldp::monitor

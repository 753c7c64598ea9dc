#pragma once
// Who reaches a dashboard and how far: addresses, limits, access.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rldp::monitor {

// Addresses. How they are written.

/// A port of 1 to 65535 in digits.
std::optional<std::uint16_t> parse_port(std::string_view digits);

struct host_and_port {
    std::string_view host;  ///< an IPv6 address keeps its brackets
    std::optional<std::uint16_t> port;
};
/// Of "lab.example:8787", "lab.example", "[::1]:8787", as a Host header has them, too. Nothing where a colon is
/// followed by anything but a port, and for an IPv6 address without brackets.
std::optional<host_and_port> split_host(std::string_view text);

/// "[::1]" as "::1".
std::string without_brackets(std::string_view host);
/// "::1" as "[::1]".
std::string with_brackets(const std::string& host);

/// Whether only this machine can reach it: an address of the loopback, or "localhost".
bool is_loopback(const std::string& host);

// Limits. What strangers at the dashboard's port can take, at most.

struct http_limits {
    using time = std::chrono::milliseconds;

    std::size_t header = 8192, body = 4096;  ///< bytes of a request
    std::size_t connections = 256;           ///< and never more than a quarter of the files that may be open
    time request{10'000};                    ///< to send a request in
    time write{10'000};                      ///< for an answer to be taken, and for each event
    time idle{30'000};                       ///< between two requests of a connection
    time tick{1'000};                        ///< between two looks at the runs' files, so between two events
    time heartbeat{5'000};                   ///< between two comments of a stream
    time wrong_token{1'000};                 ///< before a wrong token is answered
    time parting{1'000};                     ///< for what came last to be taken, when the server ends
};

// Access. Who may look, and who may stop a run.

enum class role { nobody, viewer, operator_ };

/// 256 bits each, in hex, as `rldp key new --tokens FILE` writes them.
struct tokens {
    std::string viewer, operator_;

    /// Lines "viewer HEX" and "operator HEX". Errors: bad_input naming the file where it can't be read, others than its
    /// owner can read it, or a line is neither.
    static tokens load(const std::filesystem::path& file);
};

class access_rules {
  public:
    /// Without tokens whoever reaches it is a viewer, and nobody is more.
    access_rules(std::optional<tokens> known, std::vector<std::string> hosts);

    /// Of a bearer's token, in constant time.
    role of(std::string_view token) const;
    bool asks_for_tokens() const { return known_.has_value(); }
    /// Whether a Host header, with or without a port, is of this server: a page elsewhere that had its name point here
    /// (DNS rebinding) gives that name.
    bool is_ours(std::string_view host) const;

  private:
    const std::optional<tokens> known_;
    const std::vector<std::string> hosts_;
};

}  // namespace rldp::monitor

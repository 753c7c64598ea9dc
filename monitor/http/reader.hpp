#pragma once
// What watches the runs of a dashboard from another program.
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "monitor/stream/source.hpp"

namespace rldp::monitor {

class interruption;

struct dashboard_place {
    bool tls = false;
    std::string host;
    std::string port;
    std::string prefix;  ///< of all paths, such as /rldp behind a proxy; empty: none
    /// PEM: the certificate itself, where it is self-signed, or its authority's; absent: those that the system trusts.
    std::optional<std::filesystem::path> authority = {};
    std::string token = {};  ///< empty: none
};

/// "https://lab.example:8787/prefix", "http://127.0.0.1:8787". Errors: bad_input for what is no such address, and for
/// http:// to another machine, which anyone on the way could read.
dashboard_place dashboard_place_from(const std::string& url);
/// The viewer's token of a file that `rldp key new --tokens` wrote, or that holds one token alone. Errors: bad_input.
std::string viewer_token(const std::filesystem::path& file);

class dashboard_reader final : public source {
  public:
    /// `silence`: as stream_reader's. Errors: bad_input for an authority that can't be read.
    explicit dashboard_reader(dashboard_place where, std::chrono::milliseconds silence = std::chrono::seconds(15));
    ~dashboard_reader() override;

    /// Telemetry of every run that is there, as each changes.
    std::string follow(const std::function<void(const telemetry&)>& on_telemetry) override;
    void stop() override;

  private:
    class encryption;

    const dashboard_place where_;
    const std::chrono::milliseconds silence_;
    const std::unique_ptr<interruption> interruption_;
    const std::unique_ptr<encryption> encryption_;
};

}  // namespace rldp::monitor

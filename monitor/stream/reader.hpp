#pragma once
// The other end of a stream server: what watches a run from another process.
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "monitor/stream/endpoint.hpp"
#include "monitor/stream/source.hpp"

namespace rldp::monitor {

class interruption;

class stream_reader final : public source {
  public:
    /// `silence`: so long without a byte, and the stream is taken for dead. A run says something every five seconds.
    explicit stream_reader(endpoint where, std::chrono::milliseconds silence = std::chrono::seconds(15));
    ~stream_reader() override;

    std::string follow(const std::function<void(const telemetry&)>& on_telemetry) override;
    void stop() override;

  private:
    const endpoint where_;
    const std::chrono::milliseconds silence_;
    const std::unique_ptr<interruption> interruption_;
};

}  // namespace rldp::monitor

#include "monitor/stream/reader.hpp"

#include <boost/asio/io_context.hpp>
#include <utility>

#include "monitor/stream/event_reading.hpp"
#include "monitor/stream/tcp.hpp"
#include "monitor/stream/telemetry_json.hpp"

namespace rldp::monitor {

stream_reader::stream_reader(endpoint where, std::chrono::milliseconds silence)
    : where_(std::move(where)), silence_(silence), interruption_(std::make_unique<interruption>()) {}
stream_reader::~stream_reader() = default;

std::string stream_reader::follow(const std::function<void(const telemetry&)>& on_telemetry) {
    boost::asio::io_context io{1};
    boost::beast::tcp_stream stream(io);
    event_reading reading(stream, silence_,
                          "GET /api/stream HTTP/1.1\r\nHost: " + to_string(where_) +
                              "\r\nAccept: text/event-stream\r\nConnection: close\r\n\r\n",
                          [&](std::string_view data) { on_telemetry(telemetry_from(data)); });
    reading.expect_something();
    stream.async_connect(to_tcp(where_),
                         [&](boost::system::error_code failed) { failed ? reading.end_by(failed) : reading.ask(); });
    interruption_->run(io);
    return reading.ended();
}

void stream_reader::stop() {
    interruption_->stop();
}

}  // namespace rldp::monitor

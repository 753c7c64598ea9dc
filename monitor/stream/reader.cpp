#include "monitor/stream/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <string_view>
#include <utility>

#include "monitor/stream/tcp.hpp"
#include "monitor/stream/telemetry_json.hpp"

namespace rldp::monitor {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

namespace {

constexpr std::size_t longest_line = 1024 * 1024;  // bytes
constexpr std::size_t longest_head = 8 * 1024;
constexpr std::size_t piece = 16 * 1024;

}  // namespace

/// One connection, from connecting to its end.
class stream_reader::session {
  public:
    session(asio::io_context& io, const endpoint& where, std::chrono::milliseconds silence,
            const std::function<void(const monitor::telemetry&)>& on_telemetry)
        : where_(where), silence_(silence), on_telemetry_(on_telemetry), stream_(io) {
        head_.header_limit(longest_head);
    }

    void connect() {
        stream_.expires_after(silence_);
        stream_.async_connect(to_tcp(where_), [this](error_code failed) {
            if (failed) return end(failed == asio::error::connection_refused ? nobody : why(failed));
            ask();
        });
    }
    const std::string& ended() const { return ended_; }

  private:
    void ask() {
        asio::async_write(stream_, asio::buffer(request_), [this](error_code failed, std::size_t) {
            if (failed) return end(why(failed));
            read_head();
        });
    }

    void read_head() {
        http::async_read_header(stream_, bytes_, head_, [this](error_code failed, std::size_t) {
            if (failed == http::error::end_of_stream) return end("it closed the connection; too many may be watching");
            if (failed) return end(why(failed));
            const auto& answer = head_.get();
            const auto type = answer[http::field::content_type];
            if (answer.result() != http::status::ok ||
                !std::string_view(type.data(), type.size()).starts_with("text/event-stream"))
                return end(fmt::format("what answers there is no run (HTTP status {})", answer.result_int()));
            take_lines();
        });
    }

    void read_on() {
        stream_.expires_after(silence_);
        stream_.async_read_some(bytes_.prepare(piece), [this](error_code failed, std::size_t size) {
            if (failed == asio::error::eof) return end("the run ended");
            if (failed) return end(why(failed));
            bytes_.commit(size);
            take_lines();
        });
    }

    void take_lines() {
        for (;;) {
            const std::string_view all(static_cast<const char*>(bytes_.data().data()), bytes_.size());
            const auto size = all.find('\n');
            if (std::min(size, all.size()) > longest_line) return end("it sent a line longer than 1 MiB");
            if (size == std::string_view::npos) break;
            if (!take(all.substr(0, size))) return;
            bytes_.consume(size + 1);
        }
        read_on();
    }

    /// A run sends an event as one line "data: …"; the others, such as the heart beat's comment, say nothing.
    bool take(std::string_view line) {
        constexpr std::string_view field = "data:";
        if (!line.starts_with(field)) return true;
        monitor::telemetry seen;
        try {
            seen = telemetry_from(line.substr(field.size()));
        } catch (const error& refusal) {
            end(std::string("it sent what is ") + refusal.what());
            return false;
        }
        on_telemetry_(seen);
        return true;
    }

    std::string why(error_code failed) const {
        return failed == beast::error::timeout ? "the run fell silent"
                                               : "the connection was lost (" + failed.message() + ")";
    }

    void end(std::string sentence) {
        ended_ = std::move(sentence);
        stream_.close();
    }

    const endpoint& where_;
    const std::chrono::milliseconds silence_;
    const std::function<void(const monitor::telemetry&)>& on_telemetry_;
    const std::string request_ = "GET /api/stream HTTP/1.1\r\nHost: " + to_string(where_) +
                                 "\r\nAccept: text/event-stream\r\nConnection: close\r\n\r\n";
    beast::tcp_stream stream_;
    beast::flat_buffer bytes_{longest_line + 2 * piece};
    http::response_parser<http::empty_body> head_;
    std::string ended_ = stopped;
};

stream_reader::stream_reader(endpoint where, std::chrono::milliseconds silence)
    : where_(std::move(where)), silence_(silence) {}

std::string stream_reader::follow(const std::function<void(const monitor::telemetry&)>& on_telemetry) {
    asio::io_context io{1};
    session reading(io, where_, silence_, on_telemetry);
    {
        const std::lock_guard lock(mutex_);
        if (stopped_) return reading.ended();
        interrupt_ = [&io] { io.stop(); };
    }
    const std::shared_ptr<void> over(nullptr, [this](void*) {
        const std::lock_guard lock(mutex_);
        interrupt_ = {};
    });
    reading.connect();
    io.run();
    return reading.ended();
}

void stream_reader::stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (interrupt_) interrupt_();
}

}  // namespace rldp::monitor

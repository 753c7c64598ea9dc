#pragma once
// Only for sources: whoever includes this reads Boost.Asio. The asking side of a stream of server-sent events, once it
// is connected. Stream: beast::tcp_stream, or TLS over one.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "monitor/http/reader.hpp"

namespace rldp::monitor {

template <class Stream>
class event_reading {
  public:
    using error_code = boost::system::error_code;

    /// `silence`: so long without a byte, and the stream is taken for dead. `on_data` gets what stands after "data:".
    event_reading(Stream& stream, std::chrono::milliseconds silence, std::string request,
                  std::function<void(std::string_view)> on_data)
        : stream_(stream), silence_(silence), request_(std::move(request)), on_data_(std::move(on_data)) {
        head_.header_limit(longest_head);
    }

    /// Sends the request, and reads what comes.
    void ask() {
        expect_something();
        boost::asio::async_write(stream_, boost::asio::buffer(request_), [this](error_code failed, std::size_t) {
            if (failed) return end_by(failed);
            read_head();
        });
    }
    void expect_something() { boost::beast::get_lowest_layer(stream_).expires_after(silence_); }
    void end_by(error_code failed) {
        end(failed == boost::asio::error::connection_refused ? run_reader::nobody
            : failed == boost::beast::error::timeout         ? run_reader::silent
                                                             : "the connection was lost (" + failed.message() + ")");
    }
    const std::string& ended() const { return ended_; }

  private:
    static constexpr std::size_t longest_line = std::size_t{1} << 20U;  // bytes
    static constexpr std::size_t longest_head = 8192;
    static constexpr std::size_t piece = 16384;

    void read_head() {
        namespace http = boost::beast::http;
        http::async_read_header(stream_, bytes_, head_, [this](error_code failed, std::size_t) {
            if (failed == http::error::end_of_stream) return end("it closed the connection; too many may be watching");
            if (failed) return end_by(failed);
            const auto& answer = head_.get();
            const auto type = answer[http::field::content_type];
            if (answer.result() == http::status::unauthorized) return end("it asks for a token, or another one");
            if (answer.result() != http::status::ok ||
                !std::string_view(type.data(), type.size()).starts_with("text/event-stream"))
                return end(fmt::format("what answers there is no run (HTTP status {})", answer.result_int()));
            take_lines();
        });
    }

    void read_on() {
        expect_something();
        stream_.async_read_some(bytes_.prepare(piece), [this](error_code failed, std::size_t size) {
            // Without TLS's own good-bye, too: whoever could cut the connection can't forge what came before.
            if (failed == boost::asio::error::eof || std::string_view(failed.category().name()) == "asio.ssl.stream")
                return end("the run ended");
            if (failed) return end_by(failed);
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

    /// An event is one line "data: …"; the others, such as the heart beat's comment, say nothing.
    bool take(std::string_view line) {
        constexpr std::string_view field = "data:";
        if (!line.starts_with(field)) return true;
        try {
            on_data_(line.substr(field.size()));
        } catch (const error& refusal) {
            end(std::string("it sent what is ") + refusal.what());
            return false;
        }
        return true;
    }

    void end(std::string sentence) {
        ended_ = std::move(sentence);
        boost::beast::get_lowest_layer(stream_).close();
    }

    Stream& stream_;
    const std::chrono::milliseconds silence_;
    const std::string request_;
    const std::function<void(std::string_view)> on_data_;
    boost::beast::flat_buffer bytes_{longest_line + 2 * piece};
    boost::beast::http::response_parser<boost::beast::http::empty_body> head_;
    std::string ended_ = run_reader::stopped;
};

/// Lets stop() end a follow() that runs an io_context, from another thread.
class interruption {
  public:
    /// Runs `io` unless stopped; stopped meanwhile, it returns early.
    template <class Context>
    void run(Context& io) {
        {
            const std::lock_guard lock(mutex_);
            if (stopped_) return;
            interrupt_ = [&io] { io.stop(); };
        }
        const std::shared_ptr<void> over(nullptr, [this](void*) {
            const std::lock_guard lock(mutex_);
            interrupt_ = {};
        });
        io.run();
    }
    void stop() {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        if (interrupt_) interrupt_();
    }

  private:
    std::mutex mutex_;
    bool stopped_ = false;
    std::function<void()> interrupt_;
};

}  // namespace rldp::monitor

#include "monitor/stream/connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <string_view>
#include <utility>

#include "monitor/stream/endpoint.hpp"

namespace rldp::monitor {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

constexpr std::string_view stream_head =
    "HTTP/1.1 200 OK\r\n"
    "Content-Type: text/event-stream\r\n"
    "Cache-Control: no-store\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Connection: close\r\n"
    "\r\n";

std::string_view view(boost::beast::string_view text) {
    return {text.data(), text.size()};
}

/// A page of another site that had its name point here (DNS rebinding) gives that name.
bool names_loopback(std::string_view text) {
    const auto parts = split_host(text);
    if (!parts) return false;
    const auto host = parts->host;
    return host == "127.0.0.1" || host == "[::1]" || boost::beast::iequals({host.data(), host.size()}, "localhost");
}

http::status judge(const http::request<http::empty_body>& asked) {
    if (asked.count(http::field::host) != 1 || !names_loopback(view(asked[http::field::host])))
        return http::status::forbidden;
    if (view(asked.target()) != "/api/stream") return http::status::not_found;
    return asked.method() == http::verb::get ? http::status::ok : http::status::method_not_allowed;
}

}  // namespace

stream_connection::request::request(const stream_limits& limits) : bytes(limits.request_header) {
    parser.header_limit(static_cast<std::uint32_t>(limits.request_header));
}

stream_connection::stream_connection(asio::ip::tcp::socket peer, const stream_limits& limits)
    : stream_(std::move(peer)), limits_(limits), request_(std::in_place, limits) {
    boost::system::error_code ignored;
    stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
}

template <class Work>
void stream_connection::guarded(Work work) {
    try {
        work();
    } catch (...) {  // out of memory: the run goes on, this connection does not
        close();
    }
}

/// What an operation ends with: `work(bytes)` unless it failed. Where memory is so short that it is dropped, the
/// connection is closed.
template <class Work>
auto stream_connection::handler(Work work) {
    struct owner {
        std::shared_ptr<stream_connection> connection;
        explicit owner(std::shared_ptr<stream_connection> of) : connection(std::move(of)) {}
        owner(owner&&) noexcept = default;
        owner& operator=(owner&&) = delete;
        ~owner() {
            if (connection) connection->close();
        }
    };
    return [own = owner(shared_from_this()), work](boost::system::error_code failed, std::size_t bytes) mutable {
        const auto self = std::move(own.connection);
        self->guarded([&] {
            if (failed)
                self->close();
            else if (self->is_open())
                work(bytes);
        });
    };
}

void stream_connection::start() {
    guarded([&] {
        stream_.expires_after(limits_.request);
        read_on();
    });
}

void stream_connection::show(const text& event) {
    if (phase_ != phase::asking && phase_ != phase::streaming) return;
    waiting_ = event;
    guarded([&] { go_on(); });
}

void stream_connection::beat() {
    if (phase_ == phase::streaming && !sending_) guarded([&] { send(std::make_shared<const std::string>(":\n\n")); });
}

void stream_connection::finish() {
    if (phase_ == phase::asking) return close();
    finishing_ = true;
    guarded([&] { go_on(); });
}

void stream_connection::read_on() {
    stream_.async_read_some(asio::buffer(request_->bytes) + request_->received,
                            handler([this](std::size_t bytes) { received(bytes); }));
}

void stream_connection::received(std::size_t bytes) {
    auto& [all, size, parsed, parser] = *request_;
    size += bytes;
    boost::system::error_code wrong;
    parsed += parser.put(asio::buffer(all.data() + parsed, size - parsed), wrong);
    if (wrong == http::error::header_limit || (wrong == http::error::need_more && size == all.size()))
        return refuse_with(http::status::request_header_fields_too_large);
    if (wrong && wrong != http::error::need_more) return refuse_with(http::status::bad_request);
    parser.is_header_done() ? answer() : read_on();
}

/// What the peer sends from here on is never read.
void stream_connection::answer() {
    const auto status = judge(request_->parser.get());
    if (status != http::status::ok) return refuse_with(status);
    request_.reset();
    phase_ = phase::streaming;
    send(std::make_shared<const std::string>(stream_head));
}

void stream_connection::refuse_with(http::status status) {
    request_.reset();
    waiting_.reset();
    phase_ = phase::refused;
    finishing_ = true;
    const auto reason = view(http::obsolete_reason(status));
    send(std::make_shared<const std::string>(
        fmt::format("HTTP/1.1 {} {}\r\n"
                    "Content-Type: text/plain\r\n"
                    "Content-Length: {}\r\n"
                    "{}"
                    "Cache-Control: no-store\r\n"
                    "X-Content-Type-Options: nosniff\r\n"
                    "Connection: close\r\n"
                    "\r\n"
                    "{}\n",
                    static_cast<unsigned>(status), reason, reason.size() + 1,
                    status == http::status::method_not_allowed ? "Allow: GET\r\n" : "", reason)));
}

void stream_connection::send(text what) {
    sending_ = std::move(what);
    sent_ = 0;
    write_on();
}

void stream_connection::write_on() {
    stream_.expires_after(limits_.write);  // anew for every part that moves
    stream_.async_write_some(asio::buffer(*sending_) + sent_, handler([this](std::size_t bytes) { wrote(bytes); }));
}

void stream_connection::wrote(std::size_t bytes) {
    sent_ += bytes;
    if (sent_ < sending_->size()) return write_on();
    sending_.reset();
    go_on();
}

void stream_connection::go_on() {
    if (sending_ || phase_ == phase::asking || phase_ == phase::closed) return;
    if (waiting_)
        send(std::exchange(waiting_, {}));
    else if (finishing_)
        close();
}

void stream_connection::close() {
    if (phase_ == phase::closed) return;
    phase_ = phase::closed;
    boost::system::error_code ignored;
    stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
    stream_.close();
    waiting_.reset();
}

}  // namespace rldp::monitor

#include "tests/monitor/peer.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "monitor/view/run_view.hpp"

namespace rldp::testing {

namespace {

int required(int result, const char* what) {
    if (result < 0) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
    return result;
}

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(port);
    out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return out;
}

void give_up_after_a_minute(int descriptor) {
    const timeval minute{60, 0};
    required(::setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof minute), "setsockopt");
    required(::setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &minute, sizeof minute), "setsockopt");
}

}  // namespace

peer::peer(std::uint16_t port, int receive_buffer)
    : descriptor_(required(::socket(AF_INET, SOCK_STREAM, 0), "socket")) {
    give_up_after_a_minute(descriptor_);
    if (receive_buffer > 0)
        required(::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer),
                 "setsockopt");
    const auto where = loopback(port);
    required(::connect(descriptor_, reinterpret_cast<const sockaddr*>(&where), sizeof where), "connect");
}

peer::peer(accepted by) : descriptor_(by.descriptor) {
    give_up_after_a_minute(descriptor_);
}

peer::~peer() {
    ::close(descriptor_);
}

void peer::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno == EAGAIN) throw std::runtime_error("nobody reads");
            return;
        }
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

bool peer::read_some() {
    char bytes[4096];
    const auto size = ::recv(descriptor_, bytes, sizeof bytes, 0);
    if (size < 0 && errno == EAGAIN) throw std::runtime_error("nothing comes; so far: " + read_.substr(0, 1000));
    if (size <= 0) return false;
    read_.append(bytes, static_cast<std::size_t>(size));
    return true;
}

std::string peer::read_until(std::string_view end) {
    std::size_t found = 0, seen = 0;
    while ((found = read_.find(end, seen)) == std::string::npos) {
        seen = read_.size() < end.size() ? 0 : read_.size() - end.size();
        if (!read_some()) return std::exchange(read_, {});
    }
    auto out = read_.substr(0, found + end.size());
    read_.erase(0, out.size());
    return out;
}

std::string peer::read_rest() {
    while (read_some()) {
    }
    return std::exchange(read_, {});
}

void peer::reset() {
    const linger none{1, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    ::close(std::exchange(descriptor_, -1));
}

std::string stream_request() {
    return "GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1:4242\r\n\r\n";
}

std::optional<monitor::run_view> next_event(peer& from) {
    for (;;) {
        const auto line = from.read_until("\n");
        if (line.empty() || line.back() != '\n') return std::nullopt;
        if (line.starts_with("data: ")) return monitor::parse_row(line.substr(6));
    }
}

fake_server::fake_server(std::function<void(peer&)> serve)
    : listener_(required(::socket(AF_INET, SOCK_STREAM, 0), "socket")) {
    auto where = loopback(0);
    socklen_t size = sizeof where;
    required(::bind(listener_, reinterpret_cast<const sockaddr*>(&where), size), "bind");
    required(::listen(listener_, 16), "listen");
    required(::getsockname(listener_, reinterpret_cast<sockaddr*>(&where), &size), "getsockname");
    port_ = ntohs(where.sin_port);
    thread_ = std::thread([this, serve = std::move(serve)] {
        for (int descriptor = 0; (descriptor = ::accept(listener_, nullptr, nullptr)) >= 0;) {
            peer other(peer::accepted{descriptor});
            serve(other);
        }
    });
}

fake_server::~fake_server() {
    ::shutdown(listener_, SHUT_RDWR);  // which ends accept()
    thread_.join();
    ::close(listener_);
}

}  // namespace rldp::testing

#include "monitor/stream/server.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "config/base/error.hpp"
#include "monitor/stream/connection.hpp"
#include "monitor/stream/tcp.hpp"
#include "monitor/stream/telemetry_json.hpp"

namespace rldp::monitor {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

/// The run needs files of its own.
std::size_t most_connections(const stream_limits& limits) {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return limits.connections;
    return std::min<std::size_t>(limits.connections, files.rlim_cur / 4);
}

/// Held by a handler: counted from when it is made to when it is over, called or (where memory is short) never called.
class pending {
  public:
    explicit pending(int& count) : count_(&count) { ++count; }
    pending(pending&& from) noexcept : count_(std::exchange(from.count_, nullptr)) {}
    pending& operator=(pending&&) = delete;
    ~pending() {
        if (count_) --*count_;
    }

  private:
    int* count_;
};

}  // namespace

/// Everything but show(), port() and the destructor runs on thread_.
class stream_server::loop {
  public:
    loop(const endpoint& where, const stream_limits& limits);
    ~loop();
    void show(stream_connection::text event);
    std::uint16_t port() const { return port_; }

  private:
    void listen(const endpoint& where);
    void run();
    void accept();
    void accepted(boost::system::error_code failed, tcp::socket peer);
    void beat();
    void take();
    void finish();

    const stream_limits limits_;
    const std::size_t most_connections_;
    int accepting_ = 0, beating_ = 0;  ///< handlers of that chain that are due; the queue may drop some at its end
    asio::io_context io_{1};
    tcp::acceptor acceptor_{io_};
    asio::steady_timer pause_{io_}, heartbeat_{io_};
    std::vector<std::shared_ptr<stream_connection>> connections_;
    stream_connection::text latest_;
    std::atomic<bool> finished_ = false;
    std::uint16_t port_ = 0;

    std::mutex mutex_;
    stream_connection::text next_;  ///< shown and not yet taken; take() is due while it is set
    std::thread thread_;
};

stream_server::loop::loop(const endpoint& where, const stream_limits& limits)
    : limits_(limits), most_connections_(most_connections(limits)) {
    listen(where);
    thread_ = std::thread([this] { run(); });
}

stream_server::loop::~loop() {
    try {
        asio::post(io_, [this] { finish(); });
    } catch (...) {
        finished_ = true;
        io_.stop();
    }
    thread_.join();
}

void stream_server::loop::listen(const endpoint& where) {
    const auto address = to_tcp(where);
    try {
        acceptor_.open(address.protocol());
        acceptor_.set_option(tcp::acceptor::reuse_address(true));
        // Connections inherit these.
        acceptor_.set_option(asio::socket_base::send_buffer_size(limits_.kernel_buffer));
        acceptor_.set_option(asio::socket_base::receive_buffer_size(limits_.kernel_buffer));
        acceptor_.bind(address);
        acceptor_.listen();
        port_ = acceptor_.local_endpoint().port();
    } catch (const boost::system::system_error& failed) {
        refuse(fmt::format("monitor.address: {} can't be used ({}); is another run there? choose another port",
                           to_string(where), failed.code().message()));
    }
}

void stream_server::loop::run() {
    while (!finished_) {
        try {
            if (accepting_ == 0) accept();
            if (beating_ == 0) beat();
            io_.run();
        } catch (...) {  // out of memory: what it broke off begins anew
            std::this_thread::sleep_for(std::min(limits_.accept_pause, limits_.farewell));
        }
    }
    try {
        io_.restart();
        io_.run_for(limits_.farewell);
    } catch (...) {  // then without a farewell
    }
    for (const auto& connection : connections_) connection->close();
}

void stream_server::loop::accept() {
    acceptor_.async_accept([this, due = pending(accepting_)](boost::system::error_code failed, tcp::socket peer) {
        accepted(failed, std::move(peer));
    });
}

void stream_server::loop::accepted(boost::system::error_code failed, tcp::socket peer) {
    if (finished_) return;
    if (failed) {  // such as too many open files
        pause_.expires_after(limits_.accept_pause);
        pause_.async_wait([this, due = pending(accepting_)](boost::system::error_code) {
            if (!finished_) accept();
        });
        return;
    }
    accept();
    std::erase_if(connections_, [](const auto& known) { return !known->is_open(); });
    if (connections_.size() >= most_connections_) return;  // which closes it
    const auto connection = std::make_shared<stream_connection>(std::move(peer), limits_);
    connections_.push_back(connection);
    if (latest_) connection->show(latest_);
    connection->start();
}

void stream_server::loop::beat() {
    heartbeat_.expires_after(limits_.heartbeat);
    heartbeat_.async_wait([this, due = pending(beating_)](boost::system::error_code) {
        if (finished_) return;
        beat();
        for (const auto& connection : connections_) connection->beat();
    });
}

void stream_server::loop::show(stream_connection::text event) {
    const std::lock_guard lock(mutex_);
    if (!next_) asio::post(io_, [this] { take(); });
    next_ = std::move(event);
}

void stream_server::loop::take() {
    {
        const std::lock_guard lock(mutex_);
        latest_ = std::exchange(next_, {});
    }
    for (const auto& connection : connections_) connection->show(latest_);
}

void stream_server::loop::finish() {
    finished_ = true;
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    heartbeat_.cancel();
    for (const auto& connection : connections_) connection->finish();
    io_.stop();
}

stream_server::stream_server(const endpoint& where, const stream_limits& limits)
    : loop_(std::make_unique<loop>(where, limits)) {}

stream_server::~stream_server() = default;

void stream_server::show(const monitor::telemetry& latest) {
    loop_->show(std::make_shared<const std::string>("data: " + to_json(latest) + "\n\n"));
}

std::uint16_t stream_server::port() const {
    return loop_->port();
}

}  // namespace rldp::monitor

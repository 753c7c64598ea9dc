#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/system.hpp"
#include "monitor/http/access.hpp"
#include "monitor/http/router.hpp"
#include "monitor/http/server.hpp"
#include "monitor/http/session.hpp"
#include "monitor/view/run_view.hpp"

namespace rldp::monitor {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

/// The run needs files of its own.
std::size_t most_connections(const http_limits& limits) {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return limits.connections;
    return std::min<std::size_t>(limits.connections, files.rlim_cur / 4);
}

/// An address of this machine. Errors: bad_input.
asio::ip::address parse_address(const http_config& config) {
    if (config.host == "localhost") return asio::ip::address_v4::loopback();
    error_code wrong;
    auto out = asio::ip::make_address(config.host, wrong);
    if (wrong)
        refuse(fmt::format("{}: '{}' is no address; give one of this machine's, such as 127.0.0.1 or 0.0.0.0",
                           config.asked_by, config.host));
    return out;
}

/// Whoever can reach the port can look: beyond this machine only with encryption and a token.
void check_exposure(const http_config& config, const asio::ip::address& address) {
    if (address.is_loopback() || (config.tls && config.token_file)) return;
    refuse(fmt::format(
        "{}: {} can be reached from elsewhere, which needs TLS and tokens; give --tls-certificate, --tls-key and "
        "--token-file (in a configuration monitor.tls_certificate, monitor.tls_key, monitor.token_file), or listen on "
        "127.0.0.1 and use ssh -L",
        config.asked_by, config.host));
}

/// Programs that this one starts are no part of the server: a connection ends where it is closed here.
void keep_to_itself(int descriptor) {
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

/// What a Host header may say.
std::vector<std::string> list_hosts(const http_config& config, const asio::ip::address& address) {
    auto out = config.hosts;
    if (!address.is_unspecified()) out.push_back(with_brackets(address.to_string()));
    if (address.is_loopback() || address.is_unspecified()) out.insert(out.end(), {"localhost", "127.0.0.1", "[::1]"});
    if (auto own = machine_name(); address.is_unspecified() && !own.empty()) out.push_back(std::move(own));
    return out;
}

}  // namespace

/// Everything but tell(), port(), address() and the destructor runs on thread_.
class http_server::loop {
  public:
    loop(const http_config& config, const std::vector<std::filesystem::path>& roots, std::string program_version,
         std::function<bool(const std::string&)> stop)
        : limits_(config.limits),
          most_connections_(most_connections(limits_)),
          runs_(roots),
          address_(parse_address(config)),
          who_(config.token_file ? std::optional(tokens::load(*config.token_file)) : std::nullopt,
               list_hosts(config, address_)),
          router_(runs_, who_, std::move(program_version), std::move(stop)) {
        check_exposure(config, address_);
        if (config.tls) tls_.emplace(tls_context(*config.tls));
        listen(config);
        runs_.refresh();
        thread_ = std::thread([this] { run(); });
        ::pthread_setname_np(thread_.native_handle(), "rldp-http");
    }
    loop(const loop&) = delete;
    loop& operator=(const loop&) = delete;
    /// Whoever watches sees what came last.
    ~loop() {
        try {
            asio::post(io_, [this] {
                ending_ = true;
                error_code ignored;
                acceptor_.close(ignored);
                say_last(clock::now() + limits_.parting);
            });
        } catch (...) {  // out of memory: then without a farewell
            ending_ = true;
            io_.stop();
        }
        thread_.join();
        for (const auto& one : sessions_) one->close();
    }

    void tell(run_view now) {
        const std::lock_guard lock(mutex_);
        announced_.latest = std::move(now);
        ++announced_.told;
    }
    void tell(table_progress now) {
        const std::lock_guard lock(mutex_);
        made_.latest = std::move(now);
        ++made_.told;
    }
    std::uint16_t port() const { return port_; }
    std::string address() const {
        return fmt::format("{}://{}:{}/", tls_ ? "https" : "http", with_brackets(address_.to_string()), port_);
    }

    void follow(const std::filesystem::path& root) {
        asio::post(io_, [this, root] {
            try {
                runs_.follow(root);
            } catch (const error&) {  // there is nothing to show
            }
            look();
        });
    }

  private:
    using clock = std::chrono::steady_clock;

    /// Held by a handler: counted from when it is made to when it is over, called or (where memory is short) never
    /// called.
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

    void listen(const http_config& config) try {
        const tcp::endpoint where(address_, config.port);
        acceptor_.open(where.protocol());
        keep_to_itself(acceptor_.native_handle());
        acceptor_.set_option(tcp::acceptor::reuse_address(true));
        acceptor_.bind(where);
        acceptor_.listen();
        port_ = acceptor_.local_endpoint().port();
    } catch (const boost::system::system_error& failed) {
        const auto& code = failed.code();
        const auto* help = code == asio::error::access_denied    ? "ports below 1024 are the system's; choose another"
                           : code == asio::error::address_in_use ? "another program listens there; choose another port"
                                                                 : "give an address of this machine, such as 127.0.0.1";
        refuse(fmt::format("{}: {}:{} can't be used ({}); {}", config.asked_by, with_brackets(config.host), config.port,
                           code.message(), help));
    }

    void run() {
        while (!ending_) {
            try {
                io_.restart();
                if (accepting_ == 0) accept();
                if (ticking_ == 0) tick();
                io_.run();
            } catch (...) {  // out of memory: what it broke off begins anew
                std::this_thread::sleep_for(limits_.tick);
            }
        }
    }

    void accept() {
        acceptor_.async_accept([this, due = pending(accepting_)](error_code failed, tcp::socket peer) {
            if (failed || ending_) return;  // such as too many open files: the next tick tries again
            std::erase_if(sessions_, [](const auto& known) { return !known->is_open(); });
            if (sessions_.size() < most_connections_) begin(std::move(peer));
            accept();
        });
    }

    void begin(tcp::socket peer) {
        keep_to_itself(peer.native_handle());
        auto made = tls_ ? tls_session(std::move(peer), *tls_, router_, limits_)
                         : plain_session(std::move(peer), router_, limits_);
        sessions_.push_back(made);
        made->start();
    }

    void tick() {
        timer_.expires_after(limits_.tick);
        timer_.async_wait([this, due = pending(ticking_)](error_code failed) {
            if (failed || ending_) return;
            tick();
            if (accepting_ == 0) accept();
            look();
        });
    }

    /// At the runs' files, and at who watches them.
    void look() {
        hear(announced_, [this](run_view& now) {
            for (const auto& one : runs_.runs()) one->tell(now);
            now.id = to_id(now.name);
            beginning_ = std::move(now);
        });
        hear(made_, [this](const table_progress& now) {
            for (const auto& one : runs_.runs()) one->tell(now);
        });
        runs_.refresh();
        const bool beats = ++ticks_ % std::max<std::int64_t>(1, limits_.heartbeat / limits_.tick) == 0;
        if (runs_.version() != shown_) {
            std::erase_if(latest_, [&](const auto& known) { return runs_.find(known.first) == nullptr; });
            for (const auto& one : runs_.runs()) show(one->view());
            if (beginning_ && runs_.runs().empty()) show(*beginning_);
            shown_ = runs_.version();
        }
        for (const auto& one : sessions_) {
            if (one->begins_watching())
                for (const auto& [run, event] : latest_) one->show(run, event);
            else if (beats)
                one->beat();
        }
    }

    /// What was told last; where memory is short, once there is some.
    void say_last(clock::time_point latest) {
        for (bool said = false; !said && clock::now() < latest;) try {
                look();
                said = true;
            } catch (...) {  // out of memory
                std::this_thread::sleep_for(limits_.tick);
            }
        part(latest);
    }

    /// Once all that is under way is out, or too slow.
    void part(clock::time_point latest) {
        const bool done = std::all_of(sessions_.begin(), sessions_.end(),
                                      [](const auto& one) { return !one->is_open() || one->is_idle(); });
        if (done || clock::now() >= latest) return io_.stop();
        timer_.expires_after(std::chrono::milliseconds(10));
        timer_.async_wait([this, latest](error_code) { part(latest); });
    }

    void show(const run_view& run) {
        const auto event = std::make_shared<const std::string>("data: " + to_row(run) + "\n\n");
        auto& known = latest_[run.id];
        if (known && *known == *event) return;
        known = event;
        for (const auto& one : sessions_) one->show(run.id, known);
    }

    /// What other threads tell, the latest.
    template <class What>
    struct news {
        std::optional<What> latest;
        std::uint64_t told = 0, heard = 0;
    };

    /// It counts as heard once `take` is through with it: where memory ends on the way, the next tick hears it again.
    template <class What, class Take>
    void hear(news<What>& of, const Take& take) {
        std::optional<What> now;
        std::uint64_t number = 0;
        {
            const std::lock_guard lock(mutex_);
            if (of.heard == of.told) return;
            now = of.latest;
            number = of.told;
        }
        take(*now);
        runs_.changed();
        const std::lock_guard lock(mutex_);
        of.heard = number;
    }

    const http_limits limits_;
    const std::size_t most_connections_;
    catalog runs_;
    const asio::ip::address address_;
    const access_rules who_;
    router router_;
    std::optional<asio::ssl::context> tls_;
    asio::io_context io_{1};
    tcp::acceptor acceptor_{io_};
    asio::steady_timer timer_{io_};
    std::vector<std::shared_ptr<session>> sessions_;
    std::map<std::string, std::shared_ptr<const std::string>> latest_;  ///< event of each run
    std::optional<run_view> beginning_;  ///< what the run that this process makes says: shown until it has a directory
    std::uint64_t shown_ = 0;            ///< version of the catalog that latest_ is of
    std::int64_t ticks_ = 0;
    int accepting_ = 0, ticking_ = 0;  ///< handlers that are due; the queue may drop some where memory is short
    std::uint16_t port_ = 0;
    std::atomic<bool> ending_ = false;

    std::mutex mutex_;
    news<run_view> announced_;
    news<table_progress> made_;
    std::thread thread_;
};

http_server::http_server(const http_config& config, const std::vector<std::filesystem::path>& roots,
                         std::string program_version, std::function<bool(const std::string&)> stop)
    : loop_(std::make_unique<loop>(config, roots, std::move(program_version), std::move(stop))) {}
http_server::~http_server() = default;

void http_server::follow(const std::filesystem::path& root) {
    loop_->follow(root);
}
void http_server::tell(const run_view& now) {
    loop_->tell(now);
}
void http_server::tell(table_progress now) {
    loop_->tell(std::move(now));
}
std::uint16_t http_server::port() const {
    return loop_->port();
}
std::string http_server::address() const {
    return loop_->address();
}

namespace {

/// A port alone is the loopback's.
std::optional<std::pair<std::string, std::uint16_t>> parsed(std::string_view text) {
    if (const auto port = parse_port(text)) return std::pair(http_config{}.host, *port);
    const auto parts = split_host(text);
    if (!parts || !parts->port || parts->host.empty()) return std::nullopt;
    return std::pair(without_brackets(parts->host), *parts->port);
}

}  // namespace

http_config to_dashboard_config(const http_options& given) {
    const auto where = parsed(given.address);
    if (!where)
        refuse("dashboard: '" + given.address +
               "' is not [HOST:]PORT with a port of 1 to 65535; for example 8787 or [::1]:8787");
    http_config out;
    std::tie(out.host, out.port) = *where;
    out.hosts = given.hosts;
    if (given.certificate.empty() != given.key.empty())
        refuse("dashboard: a TLS certificate and its key are a pair; give both, or neither");
    if (!given.certificate.empty()) out.tls = tls_files{given.certificate, given.key, {}};
    if (!given.client_authority.empty()) {
        if (!out.tls) refuse("dashboard: clients' certificates are of TLS; give a certificate and its key, too");
        out.tls->client_authority = given.client_authority;
    }
    if (!given.token_file.empty()) out.token_file = given.token_file;
    return out;
}

http_config to_monitor_config(const std::string& address) {
    http_config out;
    out.asked_by = "monitor.address";
    const auto parts = split_host(address);
    if (!parts || !parts->port)
        refuse("monitor.address: '" + address +
               "' is not HOST:PORT with a port of 1 to 65535; for example 127.0.0.1:4242");
    out.host = without_brackets(parts->host);
    out.port = *parts->port;
    if (!is_loopback(out.host))
        refuse("monitor.address: " + out.host +
               " is not this machine's loopback; use 127.0.0.1, or --dashboard (monitor.http), which others can reach "
               "over TLS (docs/monitoring.md)");
    return out;
}

}  // namespace rldp::monitor

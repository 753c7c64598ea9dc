#include <fmt/format.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <boost/asio/write.hpp>

#include <map>

#include "base/error.hpp"
#include "monitor/http/session.hpp"

namespace rldp::monitor {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

namespace {

void refuse_failed(error_code failed, const std::string& what) {
    if (failed) refuse(fmt::format("{} ({})", what, failed.message()));
}

void check_dates(const X509* certificate, const std::string& file) {
    if (X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0)
        refuse(file + ": the certificate has expired; make another (rldp key new --tls HOST)");
    if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0)
        refuse(file + ": the certificate is not valid yet; look at this machine's clock");
}

}  // namespace

ssl::context tls_context(const tls_files& files) {
    ssl::context out(ssl::context::tls_server);
    out.set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 | ssl::context::no_sslv3 |
                    ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 | ssl::context::single_dh_use);
    SSL_CTX_set_min_proto_version(out.native_handle(), TLS1_2_VERSION);
    error_code failed;
    out.use_certificate_chain_file(files.certificate.string(), failed);
    refuse_failed(failed, files.certificate.string() + ": can't be read as a PEM certificate");
    check_dates(SSL_CTX_get0_certificate(out.native_handle()), files.certificate.string());
    out.use_private_key_file(files.key.string(), ssl::context::pem, failed);
    // OpenSSL compares them when the key is loaded.
    if (failed && failed.message().find("mismatch") != std::string::npos)
        refuse(fmt::format("{}: is not the key of {}; name the two of one pair", files.key.string(),
                           files.certificate.string()));
    refuse_failed(failed, files.key.string() + ": can't be read as a PEM private key");
    if (SSL_CTX_check_private_key(out.native_handle()) != 1)
        refuse(fmt::format("{}: is not the key of {}; name the two of one pair", files.key.string(),
                           files.certificate.string()));
    if (files.client_authority) {
        out.load_verify_file(files.client_authority->string(), failed);
        refuse_failed(failed, files.client_authority->string() + ": can't be read as a PEM certificate");
        out.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
    }
    return out;
}

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

std::string to_text(beast::string_view view) {
    return {view.data(), view.size()};
}

request request_from(const http::request<http::string_body>& asked) {
    return {.method = to_text(asked.method_string()),
            .target = to_text(asked.target()),
            .host = asked.count(http::field::host) == 1 ? to_text(asked[http::field::host]) : std::string(),
            .authorization = to_text(asked[http::field::authorization]),
            .cookie = to_text(asked[http::field::cookie]),
            .origin = to_text(asked[http::field::origin]),
            .accepts_gzip = to_text(asked[http::field::accept_encoding]).find("gzip") != std::string::npos,
            .body = asked.body()};
}

/// Stream: beast::tcp_stream, or TLS over one.
template <class Stream>
class session_over final : public session, public std::enable_shared_from_this<session_over<Stream>> {
  public:
    template <class... Made>
    session_over(router& answers, const http_limits& limits, Made&&... made)
        : stream_(std::forward<Made>(made)...), answers_(answers), limits_(limits), pause_(stream_.get_executor()) {
        error_code ignored;
        find_tcp().socket().set_option(tcp::no_delay(true), ignored);
    }

    void start() override {
        guarded([this] {
            if constexpr (encrypted) {
                find_tcp().expires_after(limits_.request);
                stream_.async_handshake(asio::ssl::stream_base::server,
                                        handler([this](error_code failed) { failed ? close() : read(); }));
            } else {
                read();
            }
        });
    }

    void close() override {
        open_ = false;
        error_code ignored;
        find_tcp().socket().shutdown(tcp::socket::shutdown_both, ignored);
        find_tcp().close();
        pause_.cancel();
    }
    bool is_open() const override { return open_; }
    bool is_idle() const override { return !sending_answer_ && !writing_ && waiting_.empty(); }

    void show(const std::string& run, const std::shared_ptr<const std::string>& event) override {
        if (!watched_ || new_ || (!watched_->empty() && *watched_ != run)) return;
        guarded([&] {
            waiting_[run] = event;
            write_events();
        });
    }
    void beat() override {
        if (!watched_ || writing_ || !waiting_.empty()) return;
        guarded([this] {
            static const auto comment = std::make_shared<const std::string>(":\n\n");
            waiting_[""] = comment;
            write_events();
        });
    }

    bool begins_watching() override { return std::exchange(new_, false); }

  private:
    static constexpr bool encrypted = !std::is_same_v<Stream, beast::tcp_stream>;

    beast::tcp_stream& find_tcp() { return beast::get_lowest_layer(stream_); }

    template <class Work>
    void guarded(Work work) {
        try {
            work();
        } catch (...) {  // out of memory: the others go on, this connection does not
            close();
        }
    }

    /// What an operation ends with. Where memory is so short that it is dropped, the connection is closed.
    template <class Work>
    auto handler(Work work) {
        struct owner {
            std::shared_ptr<session_over> of;
            explicit owner(std::shared_ptr<session_over> one) : of(std::move(one)) {}
            owner(owner&&) noexcept = default;
            owner& operator=(owner&&) = delete;
            ~owner() {
                if (of && of->open_) of->close();
            }
        };
        return [own = owner(this->shared_from_this()), work = std::move(work)](error_code failed, auto&&...) mutable {
            const auto self = std::move(own.of);
            self->guarded([&] { work(failed); });
        };
    }

    void read() {
        parser_.emplace();
        parser_->header_limit(static_cast<std::uint32_t>(limits_.header));
        parser_->body_limit(limits_.body);
        find_tcp().expires_after(answered_ ? limits_.idle : limits_.request);
        http::async_read(stream_, buffer_, *parser_, handler([this](error_code failed) { got(failed); }));
    }

    void got(error_code failed) {
        if (failed == http::error::header_limit || failed == http::error::body_limit ||
            failed == http::error::buffer_overflow)
            return send({.status = failed == http::error::body_limit ? 413 : 431, .body = "too large\n"}, false);
        if (failed) return close();
        const auto asked = parser_->release();
        keep_ = asked.keep_alive();
        head_ = asked.method() == http::verb::head;
        auto found = answers_.answer(request_from(asked));
        if (found.events && !head_) return begin_events(*found.events);
        if (found.status != 401) return send(std::move(found), keep_);
        // Guessing is slow, whoever guesses.
        pause_.expires_after(limits_.wrong_token);
        pause_.async_wait(handler([this, found = std::move(found)](error_code stopped) mutable {
            if (!stopped && open_) send(std::move(found), false);
        }));
    }

    void send(response what, bool keep) {
        answer_ = {};
        answer_.version(11);
        answer_.result(static_cast<unsigned>(what.status));
        answer_.set(http::field::content_type, field_value(what.type));
        const auto add = [this](const auto& fields) {
            for (const auto& [name, value] : fields) answer_.set(name, field_value(value));
        };
        add(security_fields());
        add(what.fields);
        answer_.keep_alive(keep);
        const auto size = what.body.size();
        if (!head_) answer_.body() = std::move(what.body);
        if (!what.events) answer_.content_length(size);  // a stream, of which HEAD asks, has none
        find_tcp().expires_after(limits_.write);
        sending_answer_ = true;
        http::async_write(stream_, answer_, handler([this, keep](error_code failed) {
                              sending_answer_ = false;
                              answered_ = true;
                              failed || !keep ? close() : read();
                          }));
    }

    void begin_events(std::string run) {
        std::string head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\nX-Accel-Buffering: no\r\n";
        for (const auto& [name, value] : security_fields())
            head.append(name).append(": ").append(field_value(value)).append("\r\n");
        watched_ = std::move(run);
        new_ = true;
        waiting_[""] = std::make_shared<const std::string>(head + "\r\nretry: 2000\n\n");
        write_events();
    }

    void write_events() {
        if (writing_ || waiting_.empty() || !open_) return;
        sending_.clear();
        for (const auto& [run, event] : waiting_) sending_ += *event;
        waiting_.clear();
        writing_ = true;
        find_tcp().expires_after(limits_.write);
        asio::async_write(stream_, asio::buffer(sending_), handler([this](error_code failed) {
                              writing_ = false;
                              failed ? close() : write_events();
                          }));
    }

    Stream stream_;
    router& answers_;
    const http_limits& limits_;
    asio::steady_timer pause_;
    beast::flat_buffer buffer_{65'536};
    std::optional<http::request_parser<http::string_body>> parser_;
    http::response<http::string_body> answer_;
    std::optional<std::string> watched_;  ///< events of this run; empty: of all
    std::map<std::string, std::shared_ptr<const std::string>> waiting_;
    std::string sending_;
    bool open_ = true, new_ = false, keep_ = false, head_ = false, writing_ = false, sending_answer_ = false,
         answered_ = false;
};

}  // namespace

std::shared_ptr<session> plain_session(tcp::socket peer, router& answers, const http_limits& limits) {
    return std::make_shared<session_over<beast::tcp_stream>>(answers, limits, std::move(peer));
}

std::shared_ptr<session> tls_session(tcp::socket peer, asio::ssl::context& tls, router& answers,
                                     const http_limits& limits) {
    return std::make_shared<session_over<beast::ssl_stream<beast::tcp_stream>>>(answers, limits, std::move(peer), tls);
}

}  // namespace rldp::monitor

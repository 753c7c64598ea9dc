#include "monitor/http/reader.hpp"

#include <openssl/ssl.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "monitor/http/access.hpp"
#include "monitor/http/event_reading.hpp"
#include "monitor/http/server.hpp"
#include "monitor/view/run_view.hpp"

namespace rldp::monitor {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using boost::system::error_code;

bool is_of_one_run(const std::string& address) {
    return address.find("://") == std::string::npos;
}

watched_place parse_place(const std::string& address) {
    if (is_of_one_run(address)) {
        const auto server = to_monitor_config(address);
        return {.host = server.host, .port = std::to_string(server.port), .prefix = {}};
    }
    watched_place out;
    const auto scheme = address.find("://");
    const auto name = address.substr(0, scheme);
    const auto wrong = [&] {
        refuse("monitor: '" + address + "' is no address of a dashboard; for example https://lab.example:8787");
    };
    if (name != "https" && name != "http") wrong();
    out.tls = name == "https";
    auto rest = address.substr(scheme + 3);
    const auto slash = std::min(rest.find('/'), rest.size());
    out.prefix = rest.substr(slash);
    while (out.prefix.ends_with('/')) out.prefix.pop_back();
    rest = rest.substr(0, slash);
    const auto parts = split_host(rest);
    if (!parts || parts->host.empty()) wrong();
    out.host = without_brackets(parts->host);
    out.port = parts->port ? std::to_string(*parts->port) : out.tls ? "443" : "80";
    const auto plain = [](const std::string& text) { return text.find_first_of(" \t\r\n?#@") == std::string::npos; };
    if (!plain(out.host) || !plain(out.prefix)) wrong();
    if (!out.tls && !is_loopback(out.host))
        refuse(
            "monitor: anyone on the way could read what http:// tells; use https://, or ssh -L and http://127.0.0.1");
    return out;
}

std::string read_viewer_token(const std::filesystem::path& file) {
    std::istringstream words(read_text(file));
    std::string first, second;
    words >> first >> second;
    const auto& token = first == "viewer" || first == "operator" ? second : first;
    if (token.empty() || token.find_first_not_of("0123456789abcdef") != std::string::npos)
        refuse(file.string() + ": holds no token; lines viewer and operator with 64 hex digits, or such digits alone");
    return token;
}

/// How it is encrypted, where it is.
class run_reader::encryption {
  public:
    explicit encryption(const watched_place& where) {
        context.set_verify_mode(ssl::verify_peer);
        context.set_verify_callback(ssl::host_name_verification(where.host));
        SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
        error_code failed;
        if (where.authority)
            context.load_verify_file(where.authority->string(), failed);
        else
            context.set_default_verify_paths(failed);
        if (failed && where.authority)
            refuse(where.authority->string() + ": can't be read as a PEM certificate (" + failed.message() + ")");
    }
    ssl::context context{ssl::context::tls_client};
};

run_reader::run_reader(watched_place where, std::chrono::milliseconds silence)
    : where_(std::move(where)),
      silence_(silence),
      interruption_(std::make_unique<interruption>()),
      encryption_(std::make_unique<encryption>(where_)) {}
run_reader::~run_reader() = default;

std::string run_reader::follow(const std::function<void(const run_view&)>& on_row) {
    asio::io_context io{1};
    // HTTP/1.0: a proxy then sends the events as they are, not in chunks.
    const auto request = "GET " + where_.prefix + "/api/stream HTTP/1.0\r\nHost: " + with_brackets(where_.host) + ":" +
                         where_.port + "\r\nAccept: text/event-stream\r\n" +
                         (where_.token.empty() ? "" : "Authorization: Bearer " + where_.token + "\r\n") + "\r\n";
    const auto on_data = [&](std::string_view data) { on_row(parse_row(data)); };
    const auto read = [&](auto& stream, const auto& begin) {
        event_reading reading(stream, silence_, request, on_data);
        error_code failed;
        const auto found = tcp::resolver(io).resolve(where_.host, where_.port, failed);
        if (failed) return "there is no host " + where_.host + " (" + failed.message() + ")";
        reading.expect_something();
        beast::get_lowest_layer(stream).async_connect(found, [&](error_code refused, const tcp::endpoint&) {
            refused ? reading.end_by(refused) : begin(reading);
        });
        interruption_->run(io);
        return reading.ended();
    };
    if (!where_.tls) {
        beast::tcp_stream stream(io);
        return read(stream, [](auto& reading) { reading.ask(); });
    }
    beast::ssl_stream<beast::tcp_stream> stream(io, encryption_->context);
    SSL_set_tlsext_host_name(stream.native_handle(), where_.host.c_str());
    return read(stream, [&stream](auto& reading) {
        stream.async_handshake(ssl::stream_base::client,
                               [&reading](error_code failed) { failed ? reading.end_by(failed) : reading.ask(); });
    });
}

void run_reader::stop() {
    interruption_->stop();
}

}  // namespace rldp::monitor

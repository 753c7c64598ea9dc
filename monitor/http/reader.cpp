#include "monitor/http/reader.hpp"

#include <openssl/ssl.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "monitor/stream/endpoint.hpp"
#include "monitor/stream/event_reading.hpp"

namespace rldp::monitor {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

/// A row of the API (api_json.hpp) as what a display shows.
telemetry telemetry_of_row(std::string_view text) {
    const auto row = nlohmann::json::parse(text, nullptr, false);
    if (!row.is_object() || !row.contains("name") || !row["name"].is_string() || !row.contains("state") ||
        !row["state"].is_string())
        refuse("no run's row");
    const auto number = [&](const char* key) {
        const auto found = row.find(key);
        return found != row.end() && found->is_number() ? found->get<double>()
                                                        : std::numeric_limits<double>::quiet_NaN();
    };
    const auto whole = [&](const char* key) {
        const auto found = row.find(key);
        return found != row.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
    };
    telemetry out;
    out.run = row["name"].get<std::string>();
    out.state = row["state"].get<std::string>();
    out.step = whole("step");
    out.steps = whole("steps");
    out.evaluated_step = whole("evaluated_step");
    out.loss = number("loss");
    out.perplexity = number("perplexity");
    out.noise_multiplier = number("noise_multiplier");
    out.epsilon_spent = number("progress_epsilon");
    out.progress_step = whole("progress_step");
    out.epsilon_budget = number("epsilon");
    const auto promise = row.find("guarantee");
    out.epsilon_guaranteed = promise != row.end() && promise->is_boolean() && promise->get<bool>()
                                 ? number("guaranteed_epsilon")
                                 : std::numeric_limits<double>::infinity();
    return out;
}

bool is_loopback(const std::string& host) {
    error_code wrong;
    return host == "localhost" || (asio::ip::make_address(host, wrong).is_loopback() && !wrong);
}

}  // namespace

dashboard_place dashboard_place_from(const std::string& url) {
    dashboard_place out;
    const auto scheme = url.find("://");
    const auto name = url.substr(0, scheme);
    const auto wrong = [&] {
        refuse("monitor: '" + url + "' is no address of a dashboard; for example https://lab.example:8787");
    };
    if (scheme == std::string::npos || (name != "https" && name != "http")) wrong();
    out.tls = name == "https";
    auto rest = url.substr(scheme + 3);
    const auto slash = std::min(rest.find('/'), rest.size());
    out.prefix = rest.substr(slash);
    while (out.prefix.ends_with('/')) out.prefix.pop_back();
    rest = rest.substr(0, slash);
    const auto parts = split_host(rest);
    if (!parts || parts->host.empty()) wrong();
    out.host = std::string(parts->host);
    if (out.host.starts_with('[')) out.host = out.host.substr(1, out.host.size() - 2);
    out.port = parts->port ? std::to_string(*parts->port) : out.tls ? "443" : "80";
    const auto plain = [](const std::string& text) { return text.find_first_of(" \t\r\n?#@") == std::string::npos; };
    if (!plain(out.host) || !plain(out.prefix)) wrong();
    if (!out.tls && !is_loopback(out.host))
        refuse(
            "monitor: anyone on the way could read what http:// tells; use https://, or ssh -L and http://127.0.0.1");
    return out;
}

std::string viewer_token(const std::filesystem::path& file) {
    std::istringstream words(read_text(file));
    std::string first, second;
    words >> first >> second;
    const auto& token = first == "viewer" || first == "operator" ? second : first;
    if (token.empty() || token.find_first_not_of("0123456789abcdef") != std::string::npos)
        refuse(file.string() + ": holds no token; lines viewer and operator with 64 hex digits, or such digits alone");
    return token;
}

/// How it is encrypted, where it is.
class dashboard_reader::encryption {
  public:
    explicit encryption(const dashboard_place& where) {
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

dashboard_reader::dashboard_reader(dashboard_place where, std::chrono::milliseconds silence)
    : where_(std::move(where)),
      silence_(silence),
      interruption_(std::make_unique<interruption>()),
      encryption_(std::make_unique<encryption>(where_)) {}
dashboard_reader::~dashboard_reader() = default;

std::string dashboard_reader::follow(const std::function<void(const telemetry&)>& on_telemetry) {
    asio::io_context io{1};
    const bool v6 = where_.host.find(':') != std::string::npos;
    // HTTP/1.0: a proxy then sends the events as they are, not in chunks.
    const auto request = "GET " + where_.prefix +
                         "/api/stream HTTP/1.0\r\nHost: " + (v6 ? "[" + where_.host + "]" : where_.host) + ":" +
                         where_.port + "\r\nAccept: text/event-stream\r\n" +
                         (where_.token.empty() ? "" : "Authorization: Bearer " + where_.token + "\r\n") + "\r\n";
    const auto on_data = [&](std::string_view data) { on_telemetry(telemetry_of_row(data)); };
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

void dashboard_reader::stop() {
    interruption_->stop();
}

}  // namespace rldp::monitor

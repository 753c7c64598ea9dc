// The dashboard as other programs reach it: over TLS, with tokens, past what may go wrong.
#include "monitor/http/reader.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>

#include "base/files.hpp"
#include "monitor/http/self_signed.hpp"
#include "monitor/http/server.hpp"
#include "tests/catch.hpp"
#include "tests/monitor/watch/made_up_run.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::monitor;
using namespace rldp::testing;
namespace ssl = boost::asio::ssl;
using std::chrono::milliseconds;

namespace {

/// A run behind TLS and tokens.
struct guarded {
    scratch_directory scratch;
    http_config how;
    std::optional<http_server> server;

    explicit guarded(const std::string& host = "127.0.0.1") {
        make_run(scratch / "runs/a");
        make_self_signed(scratch / "tls", host);
        make_tokens(scratch / "tokens");
        how.limits.tick = milliseconds(20);
        how.limits.wrong_token = milliseconds(20);
        how.tls = tls_files{scratch / "tls.pem", scratch / "tls.key", {}};
        how.token_file = scratch / "tokens";
    }
    void start() { server.emplace(how, std::vector{scratch / "runs"}, "1"); }
    watched_place place() const {
        auto out = parse_place("https://127.0.0.1:" + std::to_string(server->port()));
        out.authority = scratch / "tls.pem";
        out.token = read_viewer_token(scratch / "tokens");
        return out;
    }
};

/// Why it ends; the first run that it tells ends it, too.
std::string first_word(const watched_place& where) {
    run_reader subject(where, milliseconds(5000));
    std::string seen;
    const auto why = subject.follow([&](const run_view& run) {
        seen = run.name + " " + std::to_string(run.step) + "/" + std::to_string(run.steps);
        subject.stop();
    });
    return seen.empty() ? why : seen;
}

/// What a client of at most this version of TLS comes to.
std::string handshake(std::uint16_t port, int version) {
    boost::asio::io_context io;
    ssl::context context(ssl::context::tls_client);
    SSL_CTX_set_security_level(context.native_handle(), 0);  // old protocols are the server's to refuse
    SSL_CTX_set_min_proto_version(context.native_handle(), version);
    SSL_CTX_set_max_proto_version(context.native_handle(), version);
    ssl::stream<boost::asio::ip::tcp::socket> stream(io, context);
    stream.lowest_layer().connect({boost::asio::ip::address_v4::loopback(), port});
    boost::system::error_code failed;
    stream.handshake(ssl::stream_base::client, failed);
    return failed ? failed.message() : SSL_get_version(stream.native_handle());
}

/// Signed again, with other dates.
void shift_dates(const std::filesystem::path& pair, long begin, long end) {
    const std::unique_ptr<FILE, int (*)(FILE*)> key_file(std::fopen((pair.string() + ".key").c_str(), "r"),
                                                         std::fclose);
    const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen((pair.string() + ".pem").c_str(), "r+"), std::fclose);
    const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(
        PEM_read_PrivateKey(key_file.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
    const std::unique_ptr<X509, void (*)(X509*)> of(PEM_read_X509(file.get(), nullptr, nullptr, nullptr), X509_free);
    X509_gmtime_adj(X509_getm_notBefore(of.get()), begin);
    X509_gmtime_adj(X509_getm_notAfter(of.get()), end);
    X509_sign(of.get(), key.get(), EVP_sha256());
    std::rewind(file.get());
    PEM_write_X509(file.get(), of.get());
}

}  // namespace

TEST_CASE("a run is read over TLS by who trusts the certificate and has a token") {
    guarded at;
    at.start();
    CHECK(first_word(at.place()) == "a 5/10");
    auto by_operator = at.place();
    rldp::write_file(at.scratch / "one", rldp::read_file(at.scratch / "tokens").substr(72), 0600);
    CHECK(by_operator.token != read_viewer_token(at.scratch / "one"));
    by_operator.token = read_viewer_token(at.scratch / "one");
    CHECK(first_word(by_operator) == "a 5/10");
    auto wrong = at.place();
    wrong.token = std::string(64, '0');
    CHECK(has(first_word(wrong), "asks for a token"));
    wrong.token.clear();
    CHECK(has(first_word(wrong), "asks for a token"));
    auto strange = at.place();
    make_self_signed(at.scratch / "other", "127.0.0.1");
    strange.authority = at.scratch / "other.pem";
    CHECK(has(first_word(strange), "certificate verify failed"));
    strange.authority = std::nullopt;  // those that the system trusts
    CHECK(has(first_word(strange), "certificate verify failed"));
    strange.authority = at.scratch / "nowhere.pem";
    CHECK(has(refusal([&] { run_reader{strange}; }), "nowhere.pem: can't be read"));
}

TEST_CASE("a certificate of another host is not this one's") {
    guarded at("lab.example");
    at.start();
    CHECK(has(first_word(at.place()), "certificate verify failed"));
}

TEST_CASE("TLS before 1.2 is refused") {
    guarded at;
    at.start();
    CHECK(has(handshake(at.server->port(), TLS1_1_VERSION), "protocol version"));
    CHECK(handshake(at.server->port(), TLS1_2_VERSION) == "TLSv1.2");
    CHECK(handshake(at.server->port(), TLS1_3_VERSION) == "TLSv1.3");
}

TEST_CASE("where clients must show certificates, who has none is not answered") {
    guarded at;
    make_self_signed(at.scratch / "client", "viewer");
    at.how.tls->client_authority = at.scratch / "client.pem";
    at.start();
    CHECK_FALSE(first_word(at.place()) == "a 5/10");
    at.how.tls->client_authority = at.scratch / "nowhere.pem";
    CHECK(has(refusal([&] { http_server(at.how, {at.scratch / "runs"}, "1"); }), "nowhere.pem"));
}

TEST_CASE("a certificate that has expired, or is not valid yet, is named at the start") {
    guarded at;
    const auto start = [&] { return refusal([&] { at.start(); }); };
    shift_dates(at.scratch / "tls", -7200, -3600);
    CHECK(has(start(), "tls.pem: the certificate has expired"));
    shift_dates(at.scratch / "tls", 3600, 7200);
    CHECK(has(start(), "tls.pem: the certificate is not valid yet"));
}

TEST_CASE("several runs come as each changes, and the end is told") {
    const scratch_directory scratch;
    make_run(scratch / "a");
    make_run(scratch / "b", {.steps = 3, .planned = 3, .over = true});
    const rldp::append_file writer(scratch / "a/public/ledger.jsonl");
    http_config how;
    how.limits.tick = milliseconds(20);
    auto server = std::make_unique<http_server>(how, std::vector{scratch / ""}, "1");
    run_reader subject(parse_place("http://127.0.0.1:" + std::to_string(server->port())));
    std::map<std::string, run_view> seen;
    const auto why = subject.follow([&](const run_view& run) {
        seen[run.name] = run;
        if (seen.size() == 2) server.reset();
    });
    CHECK(why == "the run ended");
    CHECK(seen["a"].state == "running");
    CHECK(seen["b"].state == "done");
    CHECK(seen["b"].value(rldp::eval::quantity::perplexity) == 70);
    CHECK(seen["b"].contract->epsilon_guaranteed == 2);
    CHECK(subject.follow([](const auto&) {}) == run_reader::nobody);
}

TEST_CASE("addresses of dashboards are taken apart, and what is none is refused") {
    const auto lab = parse_place("https://lab.example/rldp/");
    CHECK(lab.tls);
    CHECK(lab.host == "lab.example");
    CHECK(lab.port == "443");
    CHECK(lab.prefix == "/rldp");
    const auto six = parse_place("http://[::1]:8787");
    CHECK_FALSE(six.tls);
    CHECK(six.host == "::1");
    CHECK(six.port == "8787");
    CHECK(six.prefix.empty());
    for (const char* wrong :
         {"https://", "ftp://x", "https://a b", "https://a:x", "https://a:", "https://user@a", "https://a/?x"})
        CHECK(has(refusal([&] { parse_place(wrong); }), "is no address of a dashboard"));
    CHECK(has(refusal([] { parse_place("http://lab.example:8787"); }), "could read what http:// tells"));
    const auto one = parse_place("localhost:4242");
    CHECK_FALSE(one.tls);
    CHECK(one.port == "4242");
    const scratch_directory scratch;
    rldp::write_file(scratch / "token", "no token", 0600);
    CHECK(has(refusal([&] { read_viewer_token(scratch / "token"); }), "holds no token"));
}

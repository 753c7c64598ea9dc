#pragma once
// Only for sources. One peer of a stream server: its request is read, then it is only written to. At most one value is
// under way and one waits: the latest. Everything runs on the server's one thread; what fails, fails this connection
// alone.
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "monitor/stream/limits.hpp"

namespace rldp::monitor {

class stream_connection : public std::enable_shared_from_this<stream_connection> {
  public:
    using text = std::shared_ptr<const std::string>;

    stream_connection(boost::asio::ip::tcp::socket peer, const stream_limits& limits);

    /// Reads the request and answers it.
    void start();
    /// Sends an event once the one under way is out, unless a later one comes first.
    void show(const text& event);
    /// Sends a comment where nothing is under way.
    void beat();
    /// Closes once the latest event is out; at once where none was asked for.
    void finish();
    void close();
    bool is_open() const { return phase_ != phase::closed; }

  private:
    enum class phase { asking, streaming, refused, closed };
    struct request {
        explicit request(const stream_limits& limits);
        std::vector<char> bytes;
        std::size_t received = 0, parsed = 0;
        boost::beast::http::request_parser<boost::beast::http::empty_body> parser;
    };

    template <class Work>
    void guarded(Work work);
    template <class Work>
    auto handler(Work work);
    void read_on();
    void received(std::size_t bytes);
    void answer();
    void refuse_with(boost::beast::http::status status);
    void send(text what);
    void write_on();
    void wrote(std::size_t bytes);
    void go_on();

    boost::beast::tcp_stream stream_;
    const stream_limits limits_;
    phase phase_ = phase::asking;
    bool finishing_ = false;
    std::optional<request> request_;
    text sending_, waiting_;
    std::size_t sent_ = 0;  ///< bytes of sending_
};

}  // namespace rldp::monitor

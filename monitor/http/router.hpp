#pragma once
// What a request is answered, without a socket: easily tested, the same over TLS and without.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "monitor/http/access.hpp"
#include "monitor/watch/catalog.hpp"

namespace rldp::monitor {

struct request {
    std::string method;                                              ///< GET, HEAD, POST
    std::string target;                                              ///< path and query, as sent
    std::string host, authorization = {}, cookie = {}, origin = {};  ///< header fields; empty: absent
    bool accepts_gzip = false;
    std::string body = {};
};

struct response {
    int status = 200;
    std::string type = "text/plain; charset=utf-8";
    std::string body = {};
    std::vector<std::pair<std::string, std::string>> fields = {};  ///< besides those that every answer has
    /// Server-sent events follow, of this run or (empty) of all; the body is none.
    std::optional<std::string> events = {};
};

/// Fields that every answer has: no framing, no sniffing, no script but the page's own.
const std::vector<std::pair<std::string, std::string>>& security_fields();

/// What every value passes on its way into an answer's head: no byte of it ends a line there. Those that are no
/// printable ASCII become '?'.
std::string field_value(std::string_view value);

class router {
  public:
    /// `stop` is asked to end a run by its id, resumable; whether there was one to ask. Empty: nothing can be stopped
    /// here, for its processes are elsewhere.
    router(catalog& runs, const access_rules& who, std::string program_version,
           std::function<bool(const std::string&)> stop = {});

    /// Never throws for what a peer sends.
    response answer(const request& asked);

  private:
    response api(const request& asked, std::string_view path, std::string_view query, role who);
    response of_run(const request& asked, std::string_view rest, std::string_view query, role who);
    response sign_in(const request& asked) const;
    role find_role(const request& asked) const;

    catalog& runs_;
    const access_rules& who_;
    const std::string version_;
    const std::function<bool(const std::string&)> stop_;
};

}  // namespace rldp::monitor

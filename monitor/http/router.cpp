#include "monitor/http/router.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>

#include "monitor/http/api.hpp"

namespace rldp::monitor {

namespace {

constexpr std::string_view json_type = "application/json";
constexpr std::string_view cookie_name = "rldp_token=";
constexpr std::size_t usual_points = 1200, most_points = 10'000;

response refusal(int status, std::string what) {
    return {.status = status, .body = std::move(what) + "\n"};
}

response json_answer(std::string body) {
    return {.type = std::string(json_type), .body = std::move(body)};
}

/// The value of `name` in a query; nothing where it is absent or no whole number.
std::optional<std::int64_t> whole_number_in(std::string_view query, std::string_view name) {
    while (!query.empty()) {
        const auto end = std::min(query.find('&'), query.size());
        const auto part = query.substr(0, end);
        if (part.size() > name.size() && part.starts_with(name) && part[name.size()] == '=') {
            const auto text = part.substr(name.size() + 1);
            std::int64_t out = 0;
            const auto [last, wrong] = std::from_chars(text.data(), text.data() + text.size(), out);
            if (wrong == std::errc{} && last == text.data() + text.size() && out >= 0) return out;
            return std::nullopt;
        }
        query.remove_prefix(std::min(end + 1, query.size()));
    }
    return std::nullopt;
}

/// Of an origin such as https://lab.example:8787.
std::string_view host_in(std::string_view origin) {
    const auto scheme = origin.find("://");
    return scheme == std::string_view::npos ? std::string_view() : origin.substr(scheme + 3);
}

std::string_view token_in(const request& asked) {
    constexpr std::string_view bearer = "Bearer ";
    const std::string_view given = asked.authorization;
    if (given.starts_with(bearer)) return given.substr(bearer.size());
    std::string_view cookies = asked.cookie;
    while (!cookies.empty()) {
        const auto end = std::min(cookies.find(';'), cookies.size());
        const auto one = cookies.substr(0, end);
        if (one.starts_with(cookie_name)) return one.substr(cookie_name.size());
        cookies.remove_prefix(std::min(end + 1, cookies.size()));
        while (cookies.starts_with(' ')) cookies.remove_prefix(1);
    }
    return {};
}

/// Whoever wrote the run's directory wrote this page: it has its style within itself, and may do nothing here.
response page_of_run(const followed_run& run, public_file which) {
    auto page = run.page(which);
    if (!page) return refusal(404, "the run has none yet");
    return {.type = "text/html; charset=utf-8",
            .body = std::move(*page),
            .fields = {{"Content-Security-Policy",
                        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
                        "frame-ancestors 'none'; sandbox"}}};
}

}  // namespace

const std::vector<std::pair<std::string, std::string>>& security_fields() {
    static const std::vector<std::pair<std::string, std::string>> all = {
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
         "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cache-Control", "no-store"}};
    return all;
}

std::string field_value(std::string_view value) {
    std::string out(value);
    std::replace_if(
        out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return out;
}

router::router(catalog& runs, const access_rules& who, std::string program_version,
               std::function<bool(const std::string&)> stop)
    : runs_(runs), who_(who), version_(std::move(program_version)), stop_(std::move(stop)) {}

response router::answer(const request& asked) {
    if (!who_.is_ours(asked.host))
        return refusal(403, "that host is not this server's; --allow-host (monitor.allow_hosts) names another");
    const std::string_view target = asked.target;
    const auto mark = std::min(target.find('?'), target.size());
    const auto path = target.substr(0, mark), query = target.substr(std::min(mark + 1, target.size()));
    const bool reads = asked.method == "GET" || asked.method == "HEAD";
    // Where there are neither tokens nor a run to stop, nothing that comes in says anything but what to show.
    const bool may_post = who_.asks_for_tokens() || stop_;
    if (!reads && (!may_post || asked.method != "POST"))
        return refusal(405, may_post ? "GET, HEAD and POST are known" : "GET and HEAD are known");
    // A page elsewhere can have a browser post here; the browser says whose page it was.
    if (!reads && !asked.origin.empty() && !who_.is_ours(host_in(asked.origin)))
        return refusal(403, "that page is not this server's");
    if (path == "/healthz") return reads ? response{.body = "ok\n"} : refusal(405, "GET it");
    if (path == "/sign-in") return asked.method == "POST" ? sign_in(asked) : refusal(405, "POST it");
    if (reads)
        if (const auto* file = page_file(path)) {
            response out{.type = file->type, .body = std::string(file->gzip)};
            if (asked.accepts_gzip)
                out.fields.emplace_back("Content-Encoding", "gzip");
            else
                out.body = unpacked(file->gzip);
            return out;
        }
    const auto who = find_role(asked);
    if (who == role::nobody)
        return {.status = 401, .body = "a token is needed\n", .fields = {{"WWW-Authenticate", "Bearer"}}};
    if (path == "/metrics")
        return reads ? response{.type = "text/plain; version=0.0.4; charset=utf-8", .body = prometheus_text(runs_)}
                     : refusal(405, "GET it");
    auto out = api(asked, path, query, who);
    constexpr std::size_t worth_it = 2048;  // bytes
    if (asked.accepts_gzip && out.body.size() > worth_it) {
        out.body = packed(out.body);
        out.fields.emplace_back("Content-Encoding", "gzip");
    }
    return out;
}

role router::find_role(const request& asked) const {
    return who_.of(token_in(asked));
}

response router::sign_in(const request& asked) const {
    if (!who_.asks_for_tokens()) return refusal(404, "this server asks for no token");
    constexpr std::string_view field = "token=";
    if (!asked.body.starts_with(field) || who_.of(std::string_view(asked.body).substr(field.size())) == role::nobody)
        return refusal(401, "that is no token of this server");
    // The page is reached by the browser alone: no script reads it, no other site sends it along.
    return {.status = 303,
            .fields = {{"Location", "./"},
                       {"Set-Cookie", std::string(cookie_name) + asked.body.substr(field.size()) +
                                          "; HttpOnly; SameSite=Strict; Path=/; Secure"}}};
}

response router::api(const request& asked, std::string_view path, std::string_view query, role who) {
    constexpr std::string_view one = "/api/runs/";
    if (path.starts_with(one)) return of_run(asked, path.substr(one.size()), query, who);
    if (asked.method == "POST") return refusal(405, "GET it");
    constexpr std::string_view grid = "/api/grids/";
    if (path.starts_with(grid)) {
        const auto* found = runs_.find_grid(path.substr(grid.size()));
        return found ? json_answer(grid_json(found->view(), runs_))
                     : refusal(404, "no such grid; /api/runs lists them");
    }
    if (path == "/api/runs") return json_answer(runs_json(runs_, version_));
    if (path == "/api/openapi.json") return json_answer(openapi_json());
    if (path == "/api/stream") return {.type = "text/event-stream", .events = std::string()};
    if (path == "/api/session") return json_answer(session_json(who == role::operator_ && static_cast<bool>(stop_)));
    return refusal(404, "nothing is there; /api/openapi.json says what is");
}

response router::of_run(const request& asked, std::string_view rest, std::string_view query, role who) {
    const auto slash = std::min(rest.find('/'), rest.size());
    auto* run = runs_.find(rest.substr(0, slash));
    if (!run) return refusal(404, "no such run; /api/runs lists them");
    const auto part = rest.substr(slash);
    if (part == "/stop") {
        if (asked.method != "POST") return refusal(405, "POST it");
        if (who != role::operator_) return refusal(403, "an operator's token is needed");
        if (!stop_ || is_over(run->view()) || !stop_(run->view().id))
            return refusal(409, "that run can't be stopped from here; it is over, or of another process");
        return {.status = 202, .body = "it stops after this step, and can be resumed\n"};
    }
    if (asked.method == "POST") return refusal(405, "GET it");
    if (part == "/stream") return {.type = "text/event-stream", .events = run->view().id};
    if (part == "/metrics.csv")
        return {.type = "text/csv; charset=utf-8",
                .body = metrics_csv(runs_.past(*run)),
                .fields = {{"Content-Disposition", "attachment; filename=\"" + run->view().id + ".csv\""}}};
    if (part == "/report.html") return page_of_run(*run, public_file::report_page);
    if (part == "/certificate.html") return page_of_run(*run, public_file::certificate_page);
    if (!part.empty()) return refusal(404, "nothing is there; /api/openapi.json says what is");
    const auto from = whole_number_in(query, "from").value_or(0);
    const auto to = whole_number_in(query, "to").value_or(std::numeric_limits<std::int64_t>::max());
    const auto points = static_cast<std::size_t>(whole_number_in(query, "points").value_or(usual_points));
    return json_answer(
        run_json(run->view(), runs_.past(*run), from, to, std::clamp<std::size_t>(points, 8, most_points)));
}

}  // namespace rldp::monitor

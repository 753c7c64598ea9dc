// What a peer may ask of a dashboard, once Beast has taken its request apart: path, query, host, cookies, origin, body;
// and a grid's progress, and a page's address.
#include "base/error.hpp"
#include "base/files.hpp"
#include "monitor/http/reader.hpp"
#include "monitor/http/router.hpp"
#include "tests/fuzz/reading.hpp"

using namespace rldp;

namespace {

struct watched {
    monitor::catalog runs;
    monitor::access_rules who{monitor::tokens{std::string(64, 'a'), std::string(64, 'b')}, {"localhost"}};
    monitor::router subject{runs, who, "1", [](const std::string&) { return true; }};

    explicit watched(const std::filesystem::path& root) : runs({root}) {}
};

std::filesystem::path a_run() {
    const auto at = fuzz::directory() / "runs/a/public";
    make_directory(at.parent_path().parent_path());
    make_directory(at.parent_path());
    make_directory(at);
    write_file(at / "config.json", "{}");
    return fuzz::directory() / "runs";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    static watched at(a_run());
    std::string text(fuzz::to_text(bytes, size));
    const auto field = [&] {
        const auto end = std::min(text.find('\n'), text.size());
        auto out = text.substr(0, end);
        text.erase(0, std::min(end + 1, text.size()));
        return out;
    };
    at.runs.refresh();
    monitor::request asked{.method = field(), .target = field(), .host = "localhost"};
    asked.authorization = field();
    asked.cookie = field();
    asked.origin = field();
    if (!asked.origin.empty() && asked.origin.front() == 'h') asked.host = asked.origin;
    asked.body = text;
    const auto answer = at.subject.answer(asked);
    fuzz::require(answer.status >= 200 && answer.status < 500, "no answer of a server that is well");
    const bool knows = asked.authorization.ends_with(std::string(64, 'a')) ||
                       asked.authorization.ends_with(std::string(64, 'b')) ||
                       asked.cookie.find(std::string(64, 'a')) != std::string::npos ||
                       asked.cookie.find(std::string(64, 'b')) != std::string::npos;
    fuzz::require(knows || !asked.target.starts_with("/api") || answer.status >= 400, "a stranger was told of runs");
    try {
        monitor::parse_place(asked.target);
    } catch (const error&) {
    }
    return 0;
}

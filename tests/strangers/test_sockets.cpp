// docs/security.md lists every socket that any command listens on; this looks whether that is so.
#include <csignal>
#include <sstream>

#include "base/files.hpp"
#include "tests/catch.hpp"
#include "tests/strangers/family.hpp"
#include "tests/support/ports.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::testing;

namespace {

using addresses = std::set<std::string>;

/// The table's first two cells: a command, and at which addresses it says that it listens.
std::map<std::string, addresses> listed() {
    std::istringstream page(read_file("docs/security.md"));
    std::map<std::string, addresses> out;
    bool inside = false;
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with("| who listens | at |")) inside = true;
        if (!line.starts_with("|")) inside = false;
        if (!inside || line.starts_with("| who") || line.starts_with("| ---")) continue;
        std::istringstream cells(line.substr(2));
        std::string who, at;
        std::getline(cells, who, '|');
        std::getline(cells, at, '|');
        addresses named;
        for (std::size_t from = 0; (from = at.find('`', from)) != std::string::npos;) {
            const auto to = at.find('`', from + 1);
            named.insert(at.substr(from + 1, to - from - 1));
            from = to + 1;
        }
        out[who.substr(0, who.find_last_not_of(' ') + 1)] = named;
    }
    return out;
}

addresses find_addresses(const std::set<listening>& sockets) {
    addresses out;
    for (const auto& each : sockets) out.insert(each.address);
    return out;
}

/// Everything that a process listened on until it ended.
std::set<listening> list_seen(child& process) {
    std::set<listening> out;
    look_at(process, [&] {
        out.merge(listening_sockets(process.id()));
        return false;
    });
    return out;
}

/// What a process listens on that waits for others; it is ended then.
std::set<listening> while_waiting(child& process) {
    std::set<listening> out;
    look_at(process, [&] { return !(out = listening_sockets(process.id())).empty(); });
    ::kill(process.id(), SIGTERM);
    return out;
}

}  // namespace

TEST_CASE("every socket that a command listens on stands in docs/security.md, and no other", "[full]") {
    const scratch_directory scratch;
    auto list = listed();
    const auto holds = [&](const std::string& who, const std::set<listening>& found) {
        INFO(who << "\n" << read_file(scratch / "output"));
        REQUIRE(list.contains(who));
        CHECK(list[who] == find_addresses(found));
        list.erase(who);
    };
    const auto start = [&](const std::vector<std::string>& arguments, const variables& with = {}) {
        return started(arguments, scratch / "output", with);
    };
    const auto run = [&](const std::string& name, const std::vector<std::string>& more) {
        const auto process = start(small_run(scratch / name, 4, more));
        auto found = list_seen(*process);
        INFO(name << "\n" << read_file(scratch / "output"));
        CHECK(process->wait() == 0);
        return found;
    };
    holds("`rldp run`", run("alone", {}));
    holds("`rldp run --workers N`", run("workers", {"--workers", "2"}));
    holds("`rldp run --monitor HOST:PORT`",
          run("monitor", {"--workers", "2", "--monitor", "127.0.0.1:" + std::to_string(free_port())}));
    holds("`rldp run --dashboard PORT`", run("dashboard", {"--dashboard", std::to_string(free_port())}));

    std::vector<std::string> grid{"sweep",
                                  "config/demo.json",
                                  "--quiet",
                                  "--grid",
                                  "train.lr=0.01",
                                  "--dashboard",
                                  std::to_string(free_port()),
                                  "--out",
                                  (scratch / "grid").string()};
    const auto settings = small_run(scratch / "unused", 4);
    grid.insert(grid.end(), settings.begin() + 5, settings.end());
    const auto sweep = start(grid);
    holds("`rldp compare`, `sweep`, `tune`, `synthesize`, `prepare-controller` with `--dashboard PORT`",
          list_seen(*sweep));
    CHECK(sweep->wait() == 0);

    const auto folder = scratch.path().string();
    const auto dashboard = start({"dashboard", folder, "--http", std::to_string(free_port())});
    holds("`rldp dashboard`", while_waiting(*dashboard));
    CHECK(dashboard->wait() == 0);
    REQUIRE(start({"key", "new", "--tls", "127.0.0.1", folder + "/tls"})->wait() == 0);
    REQUIRE(start({"key", "new", "--tokens", folder + "/tokens"})->wait() == 0);
    const auto open =
        start({"dashboard", folder, "--http", "0.0.0.0:" + std::to_string(free_port()), "--tls-certificate",
               folder + "/tls.pem", "--tls-key", folder + "/tls.key", "--token-file", folder + "/tokens"});
    holds("`rldp dashboard --http 0.0.0.0:PORT`, with TLS and tokens", while_waiting(*open));
    CHECK(open->wait() == 0);

    REQUIRE(start({"key", "new", "--cluster", folder + "/secret"})->wait() == 0);
    const auto rank = [&](int number, const std::string& host, std::uint16_t port) {
        return start(small_run(scratch / "ranks", 4, {"--set", "cluster.secret=" + folder + "/secret"}),
                     as_rank(number, host, port));
    };
    const auto here = rank(0, "127.0.0.1", free_port()), anywhere = rank(0, "192.0.2.1", free_port());
    holds("rank 0, MASTER_ADDR=127.0.0.1, until all ranks have come", while_waiting(*here));
    holds("rank 0, MASTER_ADDR of a network, until all ranks have come", while_waiting(*anywhere));
    CHECK(here->wait() == 128 + SIGTERM);
    CHECK(anywhere->wait() == 128 + SIGTERM);
    const auto where = free_port();
    const auto in_place_of_rank0 = listening_at(where);
    const auto other = rank(1, "127.0.0.1", where);
    const descriptor met(::accept4(in_place_of_rank0.get(), nullptr, nullptr, SOCK_CLOEXEC));
    REQUIRE(met);
    holds("every other rank, every other command", listening_sockets(other->id()));
    ::kill(other->id(), SIGTERM);
    CHECK(other->wait() == 128 + SIGTERM);
    CHECK(list.empty());
}

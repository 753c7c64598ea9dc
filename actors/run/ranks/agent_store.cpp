#include "actors/run/ranks/agent_store.hpp"

#include <fmt/format.h>

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "config/base/error.hpp"

namespace rldp::ranks {

namespace {

/// Newer LibTorches ask for libuv under the store unless told otherwise, and a distribution's may be built without it.
template <class Options>
void without_libuv(Options& options) {
    if constexpr (requires { options.useLibUV; }) options.useLibUV = false;
}

template <class Call>
auto with_store(const place& where, Call call) {
    try {
        c10d::TCPStoreOptions options;
        without_libuv(options);
        options.port = where.port;
        options.timeout = where.patience;
        c10d::TCPStore store(where.host, options);
        return call(store, "rldp/port/" + where.round);
    } catch (const std::exception& thrown) {
        const std::string line = thrown.what();
        throw error(errc::failed,
                    fmt::format("rank {} of {}: torchrun's agent at {}:{} does not say within {} s where rank 0 is: {}",
                                where.rank, where.ranks, where.host, where.port, where.patience.count(),
                                line.substr(0, line.find('\n'))));
    }
}

}  // namespace

void tell_port(const place& where, std::uint16_t port) {
    with_store(where, [&](c10d::TCPStore& store, const std::string& key) {
        const auto text = std::to_string(port);
        store.set(key, {text.begin(), text.end()});
        return true;
    });
}

std::uint16_t hear_port(const place& where) {
    return with_store(where, [](c10d::TCPStore& store, const std::string& key) {
        const auto text = store.get(key);
        return static_cast<std::uint16_t>(std::stoul(std::string(text.begin(), text.end())));
    });
}

}  // namespace rldp::ranks

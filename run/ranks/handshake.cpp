#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <cstring>

#include "base/error.hpp"
#include "run/ranks/handshake.hpp"

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

namespace {

constexpr std::string_view protocol = "rldprk 1";
constexpr std::size_t tag_bytes = privacy::cluster_secret::proof_bytes;

template <class T>
void put(std::string& to, const T& value) {
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
void take(std::string_view& from, T& value) {
    std::memcpy(&value, from.data(), sizeof value);
    from.remove_prefix(sizeof value);
}

std::string joined(char who, std::initializer_list<std::string_view> parts) {
    std::string out(1, who);
    for (const auto part : parts) out += part;
    return out;
}

/// The text in front of a tag that proves it; nothing where it does not.
std::optional<std::string_view> proven(const privacy::cluster_secret& secret, char who,
                                       std::initializer_list<std::string_view> before, std::string_view said) {
    const auto text = said.substr(0, said.size() - tag_bytes);
    if (!secret.proves(said.substr(text.size()), joined(who, before) + std::string(text))) return std::nullopt;
    return text;
}

}  // namespace

std::string greeting() {
    const auto random = privacy::meeting::nonce();
    return std::string(protocol) + std::string(reinterpret_cast<const char*>(random.data()), random.size());
}

bool is_greeting(std::string_view said) {
    return said.size() == greeting_bytes && said.starts_with(protocol);
}

std::string knock(const privacy::cluster_secret& secret, std::string_view greeting, const caller& who) {
    std::string out;
    put(out, who.rank);
    put(out, who.ranks);
    put(out, who.stream);
    put(out, who.process);
    return out + secret.proof(joined('k', {greeting, out}));
}

std::optional<caller> heard_knock(const privacy::cluster_secret& secret, std::string_view greeting,
                                  std::string_view said) {
    require(said.size() == knock_bytes, "ranks: a knock of another length");
    auto text = proven(secret, 'k', {greeting}, said);
    if (!text) return std::nullopt;
    caller out;
    take(*text, out.rank);
    take(*text, out.ranks);
    take(*text, out.stream);
    take(*text, out.process);
    return out;
}

std::string answer(const privacy::cluster_secret& secret, std::string_view greeting, std::string_view knock,
                   verdict how, std::uint32_t ranks) {
    std::string out;
    put(out, how);
    put(out, ranks);
    return out + secret.proof(joined('a', {greeting, knock, out}));
}

std::optional<answer_heard> heard_answer(const privacy::cluster_secret& secret, std::string_view greeting,
                                         std::string_view knock, std::string_view said) {
    require(said.size() == answer_bytes, "ranks: an answer of another length");
    answer_heard out{};
    auto text = said;
    take(text, out.how);
    take(text, out.ranks);
    if (out.how == verdict::stranger || proven(secret, 'a', {greeting, knock}, said)) return out;
    return std::nullopt;
}

}  // namespace rldp::ranks

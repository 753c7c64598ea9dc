#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "data/units/corpus.hpp"
#include "data/units/split_and_sampling.hpp"

namespace rldp::data {

namespace {

std::uint64_t little_endian(const unsigned char* bytes, std::size_t count) {
    std::uint64_t out = 0;
    for (std::size_t i = count; i-- > 0;) out = out << 8 | bytes[i];
    return out;
}

/// Each character from 24 bits of its own: no symbol is favoured by more than 3e-6.
std::array<char, limits::longest_secret> make_symbols(const unsigned char* bytes) {
    std::array<char, limits::longest_secret> out;
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = secret_symbols[little_endian(bytes + 3 * i, 3) * secret_symbols.size() >> 24];
    return out;
}

void check(const split_rule& rule) {
    for (const double share : {rule.attack, rule.eval})
        require(share >= 0 && share < 1, "split: a share lies outside [0, 1)");
    require(rule.canaries >= 0, "split: a negative number of canaries");
    require(!rule.population || *rule.population >= 1, "split: a population of less than 1");
    if (rule.population && rule.canaries > *rule.population)
        refuse(fmt::format("data.canaries is {}, above privacy.population {}; plant fewer", rule.canaries,
                           *rule.population));
}

template <class Units>
std::vector<placement> place_by_hash(const Units& units, const split_rule& rule) {
    const double expected = (1 - rule.attack) * (1 - rule.eval) * static_cast<double>(units.size());
    const double population = rule.population ? static_cast<double>(*rule.population) : expected;
    const double carries = rule.canaries == 0 ? 0 : static_cast<double>(rule.canaries) / population;
    std::vector<placement> out(units.size());
    for (std::size_t i = 0; i < units.size(); ++i) {
        const bool attack = happens(units[i].side, rule.attack), eval = happens(units[i].eval, rule.eval);
        out[i].where = attack ? side::attack : eval ? side::eval : side::train;
        out[i].canary = out[i].where == side::train && happens(units[i].canary, carries);
    }
    return out;
}

/// Sorting by the keyed hash is a shuffle that only the seed and the units decide, not the rows' order.
template <class Units>
std::vector<placement> place_exactly(const Units& units, const split_rule& rule) {
    std::vector<std::uint32_t> order(units.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return units[a].side < units[b].side; });
    const auto share = [](double of, std::size_t n) {
        return static_cast<std::ptrdiff_t>(of * static_cast<double>(n));
    };
    const auto attack = share(rule.attack, units.size());
    const auto train = share(1 - rule.eval, units.size() - static_cast<std::size_t>(attack));
    std::vector<placement> out(units.size(), {side::eval, false});
    const auto first = order.begin() + attack, last = first + train;
    std::for_each(order.begin(), first, [&](std::size_t i) { out[i].where = side::attack; });
    std::for_each(first, last, [&](std::size_t i) { out[i].where = side::train; });
    std::sort(first, last, [&](auto a, auto b) { return units[a].canary < units[b].canary; });
    const auto carriers = std::min<std::ptrdiff_t>(rule.canaries, train);
    std::for_each(first, first + carriers, [&](std::size_t i) { out[i].canary = true; });
    return out;
}

/// The coins of a shadow run: targets are the first training units without a canary and the first Attack units, by id.
template <class Units>
void draw_shadow(const Units& units, const split_rule& rule, std::vector<placement>& places) {
    std::vector<std::uint32_t> members, others;
    for (std::uint32_t i = 0; i < places.size(); ++i) {
        if (places[i].where == side::train && !places[i].canary) members.push_back(i);
        if (places[i].where == side::attack) others.push_back(i);
    }
    for (auto* list : {&members, &others}) {
        const auto count = std::min<std::int64_t>(rule.shadow->targets, std::ssize(*list));
        std::partial_sort(list->begin(), list->begin() + count, list->end(),
                          [&](auto a, auto b) { return units[a].id < units[b].id; });
        list->resize(static_cast<std::size_t>(count));
        for (const auto i : *list)
            places[i].where = in_shadow(rule.seed, rule.shadow->number, units[i].id) ? side::train : side::attack;
    }
}

template <class Units>
std::vector<placement> place_all(const Units& units, const split_rule& rule) {
    check(rule);
    auto out = rule.how == split_kind::hash ? place_by_hash(units, rule) : place_exactly(units, rule);
    const auto train = std::count_if(out.begin(), out.end(), [](const placement& p) { return p.where == side::train; });
    // Where N is declared the number of units is private, and this would tell it: then all carry one.
    if (!rule.population && rule.canaries > train)
        refuse(fmt::format("data.canaries is {}, but only {} units are there to train on; plant fewer", rule.canaries,
                           train));
    if (rule.shadow) draw_shadow(units, rule, out);
    return out;
}

}  // namespace

identity_hasher::identity_hasher(std::int64_t seed) : key_(crypto_generichash_KEYBYTES, '\0') {
    if (sodium_init() < 0) throw error(errc::failed, "libsodium can't be initialised; check its installation");
    const auto label = fmt::format("rldp split {}", seed);
    crypto_generichash(reinterpret_cast<unsigned char*>(key_.data()), key_.size(),
                       reinterpret_cast<const unsigned char*>(label.data()), label.size(), nullptr, 0);
}

identity_hash identity_hasher::operator()(std::string_view kind, std::string_view identity) const {
    // 64 bytes: four words, then 30 bytes for the secret. The kind ends in a zero byte, which no kind contains.
    std::array<unsigned char, crypto_generichash_BYTES_MAX> bytes{};
    std::string message(kind);
    message += '\0';
    message += identity;
    crypto_generichash(bytes.data(), bytes.size(), reinterpret_cast<const unsigned char*>(message.data()),
                       message.size(), reinterpret_cast<const unsigned char*>(key_.data()), key_.size());
    const auto word = [&](std::size_t i) { return little_endian(bytes.data() + 8 * i, 8); };
    return {word(0), word(1), word(2), word(3), make_symbols(bytes.data() + 32)};
}

std::vector<placement> place(std::span<const identity_hash> units, const split_rule& rule) {
    return place_all(units, rule);
}

std::vector<placement> place(const hash_list& units, const split_rule& rule) {
    return place_all(units, rule);
}

std::vector<std::int64_t> poisson_draw(std::int64_t n, double rate, const std::function<std::uint64_t()>& uniform64) {
    require(n >= 0, "Poisson draw: a negative number of units");
    require(rate >= 0 && rate <= 1, "Poisson draw: the sample rate lies outside [0, 1]");
    std::vector<std::int64_t> drawn;
    for (std::int64_t i = 0; i < n; ++i)
        if (happens(uniform64(), rate)) drawn.push_back(i);
    return drawn;
}

std::uint16_t find_group_of_step(std::uint64_t seq, std::int64_t groups) {
    require(groups >= 1 && groups <= 65536, "Poisson draw: a number of groups that is out of range");
    return static_cast<std::uint16_t>(seq % static_cast<std::uint64_t>(groups));
}

std::vector<std::int64_t> draw_from_group(std::span<const std::uint16_t> groups, std::uint16_t group, double rate,
                                          const std::function<std::uint64_t()>& uniform64) {
    auto drawn = poisson_draw(std::ssize(groups), rate, uniform64);
    std::erase_if(drawn, [&](std::int64_t i) { return groups[static_cast<std::size_t>(i)] != group; });
    return drawn;
}

}  // namespace rldp::data

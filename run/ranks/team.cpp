#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>

#include "privacy/methods/serialized_step.hpp"
#include "run/ranks/link.hpp"
#include "run/ranks/step_words.hpp"
#include "run/ranks/team.hpp"

namespace rldp::ranks {

namespace {

std::string everyones_nonces(wire& over) {
    const auto mine = privacy::meeting::nonce();
    return over.gather({reinterpret_cast<const char*>(mine.data()), mine.size()});
}

std::string to_bytes(std::uint64_t number) {
    return {reinterpret_cast<const char*>(&number), sizeof number};
}

std::uint64_t number_from(std::string_view bytes) {
    std::uint64_t out = 0;
    std::memcpy(&out, bytes.data(), std::min(bytes.size(), sizeof out));
    return out;
}

/// As long as the longest message that is believed: adapters of a billion numbers, and their geometry.
constexpr std::uint64_t longest = std::uint64_t{1} << 36;

}  // namespace

team::team(const place& where, const privacy::cluster_secret& secret, std::chrono::seconds timeout,
           const on_silence& silent)
    : where_(where),
      secret_(secret),
      wire_(where, secret, timeout, silent),
      meeting_(std::make_shared<const privacy::meeting>(secret, everyones_nonces(wire_))) {
    exchange("here");  // that nobody between them has changed a nonce
}

std::string team::understood(std::string_view sealed, std::size_t rank) const {
    auto said = meeting_->open(sealed, rank, count_);
    if (!said)
        throw peer_error(
            fmt::format("rank {}: what arrived from rank {} is not what it sent; nothing of this "
                        "step is used. The run can be resumed",
                        where_.rank, rank));
    return *std::move(said);
}

std::string team::broadcast(const std::string& said) {
    // The length first, sealed as well: nobody makes a rank allocate what rank 0 did not send.
    ++count_;
    auto length = where_.rank == 0 ? meeting_->seal(to_bytes(said.size()), 0, count_)
                                   : std::string(privacy::meeting::overhead + sizeof(std::uint64_t), '\0');
    wire_.broadcast(length);
    const auto size = number_from(understood(length, 0));
    if (size > longest) throw peer_error("a message between ranks is longer than any that is sent");
    ++count_;
    auto sealed =
        where_.rank == 0 ? meeting_->seal(said, 0, count_) : std::string(privacy::meeting::overhead + size, '\0');
    wire_.broadcast(sealed);
    return where_.rank == 0 ? said : understood(sealed, 0);
}

std::vector<std::string> team::exchange(const std::string& said) {
    ++count_;
    const auto lengths = wire_.gather(meeting_->seal(to_bytes(said.size()), where_.rank, count_));
    const auto each = lengths.size() / where_.ranks;
    std::vector<std::uint64_t> sizes;
    for (std::size_t r = 0; r < where_.ranks; ++r)
        sizes.push_back(number_from(understood(std::string_view(lengths).substr(r * each, each), r)));
    const auto most = *std::max_element(sizes.begin(), sizes.end());
    if (most > longest) throw peer_error("a message between ranks is longer than any that is sent");
    ++count_;
    auto padded = said;
    padded.resize(most, '\0');
    const auto all = wire_.gather(meeting_->seal(padded, where_.rank, count_));
    const auto length = all.size() / where_.ranks;
    std::vector<std::string> out;
    for (std::size_t r = 0; r < where_.ranks; ++r) {
        out.push_back(understood(std::string_view(all).substr(r * length, length), r));
        out.back().resize(sizes[r]);
    }
    return out;
}

void team::agree(const std::vector<std::pair<std::string, std::string>>& facts) {
    const auto everyones = exchange(nlohmann::json(facts).dump());
    const auto first = nlohmann::json::parse(everyones.front()).get<std::vector<std::pair<std::string, std::string>>>();
    for (std::size_t r = 1; r < everyones.size(); ++r) {
        const auto theirs = nlohmann::json::parse(everyones[r]).get<std::vector<std::pair<std::string, std::string>>>();
        for (std::size_t i = 0; i < std::min(first.size(), theirs.size()); ++i)
            if (first[i] != theirs[i])
                refuse(fmt::format("rank {} has another {} than rank 0; give every rank the same", r, first[i].first));
    }
}

privacy::run_key team::share(const std::optional<privacy::run_key>& key) {
    ++count_;
    auto sealed = key ? key->seal(*meeting_, 0, count_) : std::string();
    auto length = sealed.size();
    wire_.broadcast({reinterpret_cast<char*>(&length), sizeof length});
    sealed.resize(std::min<std::size_t>(length, 4096));
    wire_.broadcast(sealed);
    auto out = privacy::run_key::open(*meeting_, sealed, 0, count_);
    if (!out) throw peer_error(fmt::format("rank {}: the run key of rank 0 did not arrive whole", where_.rank));
    return *std::move(out);
}

void team::reduce(std::uint64_t seq, std::span<std::int64_t> numbers) {
    const auto mine = meeting_->tag(numbers, seq);
    meeting_->mask(numbers, seq, where_.rank);
    wire_.sum(numbers);
    ++count_;
    const auto tags = wire_.gather(meeting_->seal(to_bytes(mine), where_.rank, count_));
    if (where_.rank != 0) return;
    meeting_->unmask(numbers, seq, where_.ranks);
    const auto each = tags.size() / where_.ranks;
    std::uint64_t expected = 0;
    for (std::size_t r = 0; r < where_.ranks; ++r)
        expected = privacy::meeting::add_tags(
            expected, number_from(understood(std::string_view(tags).substr(r * each, each), r)));
    constexpr auto bound = std::int64_t{1} << 60;  // what the tag tells apart
    const bool bounded =
        std::all_of(numbers.begin(), numbers.end(), [](auto number) { return number > -bound && number < bound; });
    if (!bounded || meeting_->tag(numbers, seq) != expected)
        throw peer_error(
            "the sum over the ranks is not the sum of what they sent; nothing of this step is used. The run can "
            "be resumed");
}

/// What rank 0 does not know better of another rank's host is where rank 0 itself is found.
std::vector<doorstep> team::tell_port(std::uint16_t port) {
    const auto ports = exchange(to_bytes(port));
    const auto said = nlohmann::json::parse(broadcast(nlohmann::json(wire_.hosts()).dump()));
    std::vector<doorstep> out;
    for (std::size_t rank = 0; rank < where_.ranks; ++rank) {
        const auto host = said.at(rank).get<std::string>();
        out.push_back({host.empty() ? where_.host : host, static_cast<std::uint16_t>(number_from(ports[rank]))});
    }
    return out;
}

std::shared_ptr<lending> team::lend(lending::shelf shelf) {
    auto streams = where_.launcher > 0
                       ? inherited_mesh(where_)
                       : meet_each(where_, secret_, [this](std::uint16_t port) { return tell_port(port); });
    return std::make_shared<lending>(where_, meeting_, std::move(streams), std::move(shelf));
}

namespace {

constexpr std::string_view end_of_lines = "\n\n";  // no line of a ledger is empty

}  // namespace

void tell_step(team& to, const privacy::step_order& order, const at::Tensor& adapter) {
    to.broadcast(privacy::format_charge(order.charged) + std::string(end_of_lines) +
                 privacy::serialize_step({order.terms, order.probes, adapter}));
}

void tell_end(team& to) {
    to.broadcast();
    to.leave();
}

std::optional<heard_step> hear_step(team& from, privacy::ledger_copy& ledger) {
    const auto said = from.broadcast();
    if (said.empty()) {
        from.leave();
        return std::nullopt;
    }
    const std::string_view all = said;
    const auto lines = all.find(end_of_lines);
    auto step = privacy::parse_step(all.substr(lines + end_of_lines.size()));
    return heard_step{{ledger.add(all.substr(0, lines)), std::move(step.terms), std::move(step.probes)},
                      std::move(step.adapter)};
}

}  // namespace rldp::ranks

#pragma once
// What a rank and rank 0 say to each other before anything else, each of a fixed length:
//   rank 0    a word that names this protocol, 32 random bytes
//   the rank  who it is, and a proof that it knows the secret: a tag of that and of rank 0's bytes
//   rank 0    its verdict and its number of ranks, and a tag of all this
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "privacy/keys/cluster_secret.hpp"

namespace rldp::ranks {

struct caller {
    static constexpr std::size_t process_bytes = 16;
    std::uint32_t rank = 0, ranks = 0;
    std::uint8_t stream = 0;                    ///< of link: words or beats
    std::array<char, process_bytes> process{};  ///< random; the same for both streams of a process
};

enum class verdict : char {
    welcome = 'w',
    stranger = 's',    ///< its tag is not made with this secret
    miscounted = 'm',  ///< another number of ranks
    twice = 't',       ///< another process has said that it is this rank
};

struct answer_heard {
    verdict how;
    std::uint32_t ranks;
};

inline constexpr std::size_t greeting_bytes = 40, knock_bytes = 57, answer_bytes = 37;

std::string greeting();
/// Whether a rank of this protocol says so.
bool is_greeting(std::string_view said);

std::string knock(const privacy::cluster_secret& secret, std::string_view greeting, const caller& who);
/// Nothing where the tag is not of this secret and greeting.
std::optional<caller> heard_knock(const privacy::cluster_secret& secret, std::string_view greeting,
                                  std::string_view said);

std::string answer(const privacy::cluster_secret& secret, std::string_view greeting, std::string_view knock,
                   verdict how, std::uint32_t ranks);
/// Nothing where the tag is not of this secret, greeting and knock; but anyone may say `stranger`.
std::optional<answer_heard> heard_answer(const privacy::cluster_secret& secret, std::string_view greeting,
                                         std::string_view knock, std::string_view said);

}  // namespace rldp::ranks

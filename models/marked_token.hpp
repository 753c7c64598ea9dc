#pragma once
// A token that carries a value of a table, and not only the template's words, is kept as its complement: losses are
// told apart by it, and may weigh it more.
#include <cstdint>

namespace rldp::models {

constexpr std::int32_t marked(std::int32_t token) {
    return token < 0 ? token : ~token;
}
constexpr bool is_marked(std::int32_t token) {
    return token < 0;
}
constexpr std::int32_t unmarked(std::int32_t token) {
    return token < 0 ? ~token : token;
}

}  // namespace rldp::models

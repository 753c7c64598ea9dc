#include "eval/grid/shard.hpp"

#include <fmt/format.h>

#include <charconv>

#include "config/base/error.hpp"

namespace rldp::eval {

shard shard_from(const std::string& text) {
    shard out;
    const auto slash = text.find('/');
    const auto number = [&](std::size_t begin, std::size_t end, std::size_t& into) {
        const auto [stop, wrong] = std::from_chars(text.data() + begin, text.data() + end, into);
        return wrong == std::errc{} && stop == text.data() + end;
    };
    if (slash == std::string::npos || !number(0, slash, out.part) || !number(slash + 1, text.size(), out.of) ||
        out.part < 1 || out.part > out.of)
        refuse(fmt::format("--shard {}: not of the form i/n with i from 1 to n", text));
    return out;
}

}  // namespace rldp::eval

#include "config/base/today.hpp"

#include <fmt/chrono.h>

#include <charconv>
#include <cstdlib>
#include <ctime>
#include <string_view>

namespace rldp {

namespace {

std::tm moment() {
    auto seconds = std::time(nullptr);
    if (const char* given = std::getenv("SOURCE_DATE_EPOCH")) {
        const std::string_view text(given);
        std::from_chars(text.data(), text.data() + text.size(), seconds);
    }
    std::tm out{};
    ::gmtime_r(&seconds, &out);
    return out;
}

}  // namespace

std::string today() {
    return fmt::format("{:%Y-%m-%d}", moment());
}

std::int64_t parse_date(const std::string& date) {
    std::tm parts{};
    if (::strptime(date.c_str(), "%Y-%m-%d", &parts) == nullptr) return 0;
    return static_cast<std::int64_t>(::timegm(&parts));
}

std::string now() {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", moment());
}

}  // namespace rldp

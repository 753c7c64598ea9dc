#include "data/grammar/dates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace rldp::data {

std::optional<std::int64_t> read_iso_date(std::string_view text) {
    if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
    const auto number = [&](std::size_t at, std::size_t digits) {
        int out = -1;
        const auto end = text.data() + at + digits;
        return std::from_chars(text.data() + at, end, out).ptr == end ? out : -1;
    };
    const int year = number(0, 4), month = number(5, 2), day = number(8, 2);
    if (year < 1 || month < 1 || day < 1) return std::nullopt;
    const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                           std::chrono::day(static_cast<unsigned>(day))};
    if (!date.ok()) return std::nullopt;
    return std::chrono::sys_days(date).time_since_epoch().count();
}

std::optional<std::string> find_fault_of_date_format(std::string_view format) {
    std::string seen;
    for (std::size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%') continue;
        const char which = i + 1 < format.size() ? format[++i] : ' ';
        if (which != 'Y' && which != 'm' && which != 'd') return "knows %Y, %m and %d only";
        if (seen.find(which) != std::string::npos) return fmt::format("has %{} twice", which);
        seen += which;
    }
    if (seen.find('Y') == std::string::npos) return "has no %Y";
    if (seen.find('d') != std::string::npos && seen.find('m') == std::string::npos) return "has %d without %m";
    return std::nullopt;
}

std::string write_date(std::int64_t day, std::string_view format) {
    const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
    std::string out;
    for (std::size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%') {
            out += format[i];
            continue;
        }
        switch (format[++i]) {
            case 'Y':
                out += fmt::format("{:04}", static_cast<int>(date.year()));
                break;
            case 'm':
                out += fmt::format("{:02}", static_cast<unsigned>(date.month()));
                break;
            default:
                out += fmt::format("{:02}", static_cast<unsigned>(date.day()));
        }
    }
    return out;
}

std::optional<std::int64_t> read_date(std::string_view text, std::string_view format) {
    std::string year, month = "01", day = "01";
    for (std::size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%') {
            if (!text.starts_with(format[i])) return std::nullopt;
            text.remove_prefix(1);
            continue;
        }
        const char which = format[++i];
        auto& into = which == 'Y' ? year : which == 'm' ? month : day;
        into = text.substr(0, which == 'Y' ? 4 : 2);
        text.remove_prefix(into.size());
    }
    return text.empty() ? read_iso_date(year + "-" + month + "-" + day) : std::nullopt;
}

std::vector<std::string> list_dates(std::int64_t first, std::int64_t last, std::string_view format) {
    std::vector<std::string> out;
    for (auto day = first; day <= last; ++day) {
        auto written = write_date(day, format);
        if (out.empty() || out.back() != written) out.push_back(std::move(written));
    }
    return out;
}

}  // namespace rldp::data

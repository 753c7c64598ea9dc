#include "models/lora/name_pattern.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <array>
#include <new>

#include "config/base/error.hpp"

namespace rldp::models {

name_pattern::name_pattern(const std::string& pattern, const std::string& where)
    : where_(fmt::format("{}: '{}'", where, pattern)) {
    int problem = 0;
    PCRE2_SIZE offset = 0;
    auto* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                               PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C, &problem, &offset, nullptr);
    if (code == nullptr) {
        std::array<PCRE2_UCHAR, 160> reason{};
        pcre2_get_error_message(problem, reason.data(), reason.size());
        refuse(
            fmt::format("{} is not a regular expression ({})", where_, reinterpret_cast<const char*>(reason.data())));
    }
    code_ = std::shared_ptr<pcre2_code>(code, pcre2_code_free);
}

bool name_pattern::matches(const std::string& name, unsigned how) const {
    constexpr std::uint32_t most_steps = 100'000;
    const auto* code = static_cast<const pcre2_code*>(code_.get());
    const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> found(
        pcre2_match_data_create_from_pattern(code, nullptr), pcre2_match_data_free);
    const std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> limits(
        pcre2_match_context_create(nullptr), pcre2_match_context_free);
    if (found == nullptr || limits == nullptr) throw std::bad_alloc();
    pcre2_set_match_limit(limits.get(), most_steps);
    const auto rc = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(name.data()), name.size(), 0, how | PCRE2_ANCHORED,
                                found.get(), limits.get());
    if (rc == PCRE2_ERROR_NOMATCH) return false;
    if (rc < 0) refuse(fmt::format("{} takes too long on '{}' (PCRE2 error {})", where_, name, rc));
    return true;
}

bool name_pattern::matches_whole(const std::string& name) const {
    return matches(name, PCRE2_ENDANCHORED);
}

bool name_pattern::matches_start(const std::string& name) const {
    return matches(name, 0);
}

}  // namespace rldp::models

#include "models/regex/regex.hpp"

#include <fmt/format.h>
#include <oniguruma.h>

#include <algorithm>
#include <array>
#include <new>

#include "base/error.hpp"

namespace rldp::models {

namespace {

const OnigUChar* view_bytes(std::string_view text) {
    return reinterpret_cast<const OnigUChar*>(text.data());
}

std::string find_message(int code, const OnigErrorInfo* info = nullptr) {
    std::array<OnigUChar, ONIG_MAX_ERROR_MESSAGE_LEN> out{};
    const int length =
        info != nullptr ? onig_error_code_to_str(out.data(), code, info) : onig_error_code_to_str(out.data(), code);
    return {reinterpret_cast<const char*>(out.data()), static_cast<std::size_t>(std::max(length, 0))};
}

/// Searching changes nothing in the expression; Oniguruma's interface only does not say so.
regex_t* to_regex(const std::shared_ptr<const void>& held) {
    return static_cast<regex_t*>(const_cast<void*>(held.get()));
}

/// A hostile pattern could else take minutes and gigabytes over a few words. What honest ones do over a run of blanks,
/// for one, grows with its length for each place in it.
auto match_limits(std::size_t text) {
    std::unique_ptr<OnigMatchParam, decltype(&onig_free_match_param)> limits(onig_new_match_param(),
                                                                             onig_free_match_param);
    if (limits == nullptr) throw std::bad_alloc();
    onig_initialize_match_param(limits.get());
    constexpr std::size_t most = 1'000'000'000;
    const auto in_match = std::min(most, 20'000 + 20 * text);
    onig_set_retry_limit_in_match_of_match_param(limits.get(), in_match);
    onig_set_retry_limit_in_search_of_match_param(limits.get(), std::min(most, 10'000'000 + 5'000 * text));
    onig_set_match_stack_limit_size_of_match_param(limits.get(), static_cast<unsigned>(in_match));
    return limits;
}

/// In a class, [:punct:] is punctuation and symbols to the Oniguruma in Hugging Face's tokenizers, and without the
/// symbols to the distributions' (6.9.8).
std::string with_symbols(std::string_view pattern, const std::string& where) {
    constexpr std::string_view old_name = "[:punct:]", negated = "[:^punct:]";
    std::string out;
    int depth = 0;
    for (std::size_t at = 0; at < pattern.size();) {
        const auto rest = pattern.substr(at);
        if (depth > 0 && rest.starts_with(negated)) refuse(where + ": [:^punct:] is not supported");
        if (depth > 0 && rest.starts_with(old_name)) {
            out += R"(\p{P}\p{S})";
            at += old_name.size();
            continue;
        }
        if (rest.front() == '[') ++depth;
        if (rest.front() == ']' && depth > 0) --depth;
        const std::size_t length = rest.front() == '\\' && rest.size() > 1 ? 2 : 1;
        out += rest.substr(0, length);
        at += length;
    }
    return out;
}

}  // namespace

void start_oniguruma() {
    static const int started = [] {
        OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
        const int out = onig_initialize(encodings, 1);
        onig_set_parse_depth_limit(250);  // which recurses
        return out;
    }();
    require(started == ONIG_NORMAL, "Oniguruma does not start");
}

regex::regex(std::string_view pattern, const std::string& where, dialect how) : where_(where) {
    start_oniguruma();
    const bool python = how == dialect::python;
    const auto current = python ? std::string(pattern) : with_symbols(pattern, where);
    regex_t* code = nullptr;
    OnigErrorInfo info{};
    const int problem = onig_new(&code, view_bytes(current), view_bytes(current) + current.size(), ONIG_OPTION_NONE,
                                 ONIG_ENCODING_UTF8, python ? ONIG_SYNTAX_PYTHON : ONIG_SYNTAX_DEFAULT, &info);
    if (problem != ONIG_NORMAL)
        refuse(fmt::format("{} is not a regular expression ({})", where, find_message(problem, &info)));
    code_ = std::shared_ptr<regex_t>(code, onig_free);
}

std::vector<text_range> regex::matches(std::string_view text) const {
    const auto limits = match_limits(text.size());
    const auto free_region = [](OnigRegion* region) { onig_region_free(region, 1); };
    const std::unique_ptr<OnigRegion, decltype(free_region)> region(onig_region_new(), free_region);
    if (region == nullptr) throw std::bad_alloc();
    const auto *begin = view_bytes(text), *end = begin + text.size();
    std::vector<text_range> out;
    for (std::size_t at = 0; at <= text.size();) {
        onig_region_clear(region.get());
        const int found = onig_search_with_param(to_regex(code_), begin, end, begin + at, end, region.get(),
                                                 ONIG_OPTION_NONE, limits.get());
        if (found == ONIGERR_MEMORY) throw std::bad_alloc();
        if (found < 0) break;  // no match, or none within the limits
        const auto first = static_cast<std::size_t>(region->beg[0]), last = static_cast<std::size_t>(region->end[0]);
        if (first == last && !out.empty() && out.back().end == last) {
            at += at < text.size() ? static_cast<std::size_t>(ONIG_ENCODING_UTF8->mbc_enc_len(begin + at)) : 1;
            continue;
        }
        out.push_back({first, last});
        at = last;
    }
    return out;
}

bool regex::matches_start(std::string_view text) const {
    const auto limits = match_limits(text.size());
    const auto *begin = view_bytes(text), *end = begin + text.size();
    const int found =
        onig_match_with_param(to_regex(code_), begin, end, begin, nullptr, ONIG_OPTION_NONE, limits.get());
    if (found < 0 && found != ONIG_MISMATCH)
        refuse(fmt::format("{} takes too long on '{}' ({})", where_, text, find_message(found)));
    return found >= 0;
}

std::string regex::replace(std::string_view text, std::string_view with) const {
    std::string out;
    std::size_t at = 0;
    for (const auto [begin, end] : matches(text)) {
        if (begin == end) continue;
        out.append(text.substr(at, begin - at)).append(with);
        at = end;
    }
    out.append(text.substr(at));
    return out;
}

regex python_regex(const std::string& pattern, const std::string& where) {
    return {pattern, fmt::format("{}: '{}'", where, pattern), regex::dialect::python};
}

regex python_regex_of_whole(const std::string& pattern, const std::string& where) {
    python_regex(pattern, where);  // alone: a bracket of its own must not close ours
    return {"(?:" + pattern + ")(?![\\s\\S])", fmt::format("{}: '{}'", where, pattern), regex::dialect::python};
}

}  // namespace rldp::models

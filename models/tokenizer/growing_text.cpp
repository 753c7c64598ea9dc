#include "models/tokenizer/growing_text.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace rldp::models {

growing_text::growing_text(const tokenizer& words, std::vector<std::int32_t> prompt, std::vector<std::string> stop)
    : words_(words), prompt_(std::move(prompt)), stop_(std::move(stop)) {
    for (const auto& one : stop_) held_back_ = std::max(held_back_, one.size() - 1);
}

bool growing_text::take(const std::vector<std::int32_t>& made) {
    text_ = decode_after(words_, prompt_, made);
    bool ended = false;
    for (const auto& one : stop_)
        if (const auto at = text_.find(one); at != std::string::npos) {
            text_.resize(at);
            ended = true;
        }
    return ended;
}

std::string growing_text::news(bool all) {
    auto end = text_.size();
    if (!all) {
        // Bytes that are no letter yet are decoded as U+FFFD.
        constexpr std::string_view half = "\xEF\xBF\xBD";
        while (std::string_view(text_).substr(0, end).ends_with(half)) end -= half.size();
        end -= std::min(end, held_back_);
        while (end > 0 && end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80) --end;
    }
    if (end <= shown_) return {};
    auto out = text_.substr(shown_, end - shown_);
    shown_ = end;
    return out;
}

}  // namespace rldp::models

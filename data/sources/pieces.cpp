#include "data/sources/pieces.hpp"

#include <algorithm>

#include "data/sources/text.hpp"

namespace rldp::data {

piece_reader::piece_reader(const std::string& path, bool quotes, std::size_t size)
    : name_(path), file_(path), quotes_(quotes), size_(size) {}

void piece_reader::rewind() {
    file_.rewind();
    rest_.clear();
    scanned_ = cut_ = 0;
    inside_ = begun_ = ended_ = false;
    line_ = 1;
}

/// Reads on; false at the file's end.
bool piece_reader::fill() {
    const auto before = rest_.size();
    rest_.resize(before + size_);
    const auto got = file_.read(rest_.data() + before, size_);
    rest_.resize(before + got);
    return got == size_;
}

void piece_reader::scan() {
    for (; scanned_ < rest_.size(); ++scanned_) {
        if (quotes_ && rest_[scanned_] == '"') inside_ = !inside_;  // a doubled quote closes and opens
        if (rest_[scanned_] == '\n' && !inside_) cut_ = scanned_ + 1;
    }
}

std::optional<piece> piece_reader::next() {
    if (ended_) return std::nullopt;
    while (cut_ == 0 && !ended_) {
        ended_ = !fill();
        scan();
    }
    const auto length = ended_ ? rest_.size() : cut_;
    piece out{rest_.substr(0, length), line_};
    rest_.erase(0, length);
    scanned_ -= length;
    cut_ = 0;
    line_ += static_cast<std::size_t>(std::count(out.text.begin(), out.text.end(), '\n'));
    if (begun_ && out.text.empty()) return std::nullopt;
    out.text = begun_ ? checked_utf8(std::move(out.text), name_, out.line) : checked_text(std::move(out.text), name_);
    begun_ = true;
    return out;
}

}  // namespace rldp::data

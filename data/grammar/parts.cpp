#include "data/grammar/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace rldp::data {

namespace {

/// Words in order; a mark is which of them are left, and how many bytes of them were read.
class words_part final : public part {
  public:
    explicit words_part(std::vector<std::string> words) : words_(std::move(words)) {
        std::sort(words_.begin(), words_.end());
        words_.erase(std::unique(words_.begin(), words_.end()), words_.end());
    }
    mark begin() const override { return {0, std::ssize(words_), 0}; }
    std::optional<mark> next(const mark& at, std::uint8_t byte) const override {
        const auto depth = static_cast<std::size_t>(at.c);
        // A word that ends here comes before those that go on.
        const auto order = [depth](const std::string& word) {
            return depth < word.size() ? static_cast<int>(static_cast<std::uint8_t>(word[depth])) : -1;
        };
        const auto first = words_.begin() + at.a, last = words_.begin() + at.b;
        const auto low = std::partition_point(first, last, [&](const auto& word) { return order(word) < byte; });
        const auto high = std::partition_point(low, last, [&](const auto& word) { return order(word) <= byte; });
        if (low == high) return std::nullopt;
        return mark{low - words_.begin(), high - words_.begin(), at.c + 1};
    }
    bool ends(const mark& at) const override {
        return at.a < at.b && std::ssize(words_[static_cast<std::size_t>(at.a)]) == at.c;
    }

  private:
    std::vector<std::string> words_;
};

constexpr int most_digits = 15;

constexpr std::array<std::int64_t, most_digits + 2> powers = [] {
    std::array<std::int64_t, most_digits + 2> out{1};
    for (std::size_t i = 1; i < out.size(); ++i) out[i] = 10 * out[i - 1];
    return out;
}();

std::int64_t power(int exponent) {
    return powers.at(static_cast<std::size_t>(exponent));
}

/// A mark: the digits so far as a number; how many of them stand before the point; 0 before a sign or digit, 1 behind a
/// sign, 2 among whole digits, 3 + decimals read; negated below 0.
class number_part final : public part {
  public:
    explicit number_part(const number_range& range) : range_(range) {}
    mark begin() const override { return {}; }

    std::optional<mark> next(const mark& at, std::uint8_t byte) const override {
        mark to = at;
        const auto phase = at.c < 0 ? -at.c : at.c;
        const bool negative = at.c < 0;
        if (byte == '-') {
            if (phase != 0 || range_.low >= 0) return std::nullopt;
            return mark{0, 0, -1};
        }
        if (byte == '.') {
            if (phase != 2 || range_.decimals == 0) return std::nullopt;
            to.c = negative ? -3 : 3;
            return can_end(to) ? std::optional(to) : std::nullopt;
        }
        if (byte < '0' || byte > '9') return std::nullopt;
        if (phase <= 2) {
            if (at.b == most_digits - range_.decimals || (at.b > 0 && at.a == 0)) return std::nullopt;
            to.c = negative ? -2 : 2;
            ++to.b;
        } else {
            if (phase - 3 == range_.decimals) return std::nullopt;
            to.c += negative ? -1 : 1;
        }
        to.a = 10 * at.a + (byte - '0');
        return can_end(to) ? std::optional(to) : std::nullopt;
    }

    bool ends(const mark& at) const override {
        const auto phase = at.c < 0 ? -at.c : at.c;
        if (phase < 2 || phase == 3) return false;
        const auto units = at.a * power(range_.decimals - static_cast<int>(std::max<std::int64_t>(0, phase - 3)));
        return (at.c >= 0 || units > 0) && range_.holds(at.c < 0 ? -units : units);
    }

  private:
    /// Whether some number of the range begins so: those that do lie in intervals, one for each number of digits that
    /// may come before the point.
    bool can_end(const mark& at) const {
        const bool negative = at.c < 0;
        const auto phase = static_cast<int>(negative ? -at.c : at.c);
        if (phase >= 3) {
            const auto width = power(range_.decimals - (phase - 3));
            return any_within(at.a * width, at.a * width + width - 1, negative);
        }
        const int more = at.a == 0 ? 0 : most_digits - static_cast<int>(at.b) - range_.decimals;
        for (int j = 0; j <= more; ++j) {
            const auto width = power(j + range_.decimals);
            if (any_within(at.a * width, at.a * width + width - 1, negative)) return true;
        }
        return false;
    }
    bool any_within(std::int64_t low, std::int64_t high, bool negative) const {
        if (negative) {
            const auto least = std::max<std::int64_t>(low, 1);
            low = -high;
            high = -least;
        }
        low = std::max(low, range_.low);
        high = std::min(high, range_.high);
        if (low > high) return false;
        return range_.low + (low - range_.low + range_.step - 1) / range_.step * range_.step <= high;
    }

    number_range range_;
};

/// A mark: characters left; the least and the greatest that the next byte of a character may be, and how many follow
/// it, packed; whether one was read.
class text_part final : public part {
  public:
    explicit text_part(std::int64_t most) : most_(most) {}
    mark begin() const override { return {most_, 0, 0}; }

    std::optional<mark> next(const mark& at, std::uint8_t byte) const override {
        if (at.b != 0) {  // within a character
            const auto low = at.b & 0xff, high = (at.b >> 8) & 0xff, follow = at.b >> 16;
            if (byte < low || byte > high) return std::nullopt;
            return mark{at.a, follow == 0 ? 0 : pack(0x80, 0xbf, follow - 1), 1};
        }
        if (at.a == 0 || (at.c == 0 && byte == ' ')) return std::nullopt;
        const auto wait = await(byte);
        return wait ? std::optional(mark{at.a - 1, *wait, 1}) : std::nullopt;
    }
    bool ends(const mark& at) const override { return at.b == 0 && at.c == 1; }
    mark within(const mark& at, std::int64_t bytes) const override { return {std::min(at.a, bytes), at.b, at.c}; }

  private:
    static std::int64_t pack(std::int64_t low, std::int64_t high, std::int64_t follow) {
        return low | high << 8 | follow << 16;
    }
    /// What must follow the first byte of a character (Unicode Standard, table 3-7); 0: nothing.
    static std::optional<std::int64_t> await(std::uint8_t byte) {
        if (byte < 0x20 || byte == 0x7f) return std::nullopt;
        if (byte < 0x80) return 0;
        if (byte >= 0xc3 && byte <= 0xdf) return pack(0x80, 0xbf, 0);
        if (byte == 0xc2) return pack(0xa0, 0xbf, 0);  // below are control characters
        if (byte == 0xe0) return pack(0xa0, 0xbf, 1);
        if (byte == 0xed) return pack(0x80, 0x9f, 1);
        if (byte >= 0xe1 && byte <= 0xef) return pack(0x80, 0xbf, 1);
        if (byte == 0xf0) return pack(0x90, 0xbf, 2);
        if (byte >= 0xf1 && byte <= 0xf3) return pack(0x80, 0xbf, 2);
        if (byte == 0xf4) return pack(0x80, 0x8f, 2);
        return std::nullopt;
    }

    std::int64_t most_;
};

}  // namespace

std::shared_ptr<const part> make_words(std::vector<std::string> words) {
    return std::make_shared<words_part>(std::move(words));
}

std::shared_ptr<const part> make_number(const number_range& range) {
    return std::make_shared<number_part>(range);
}

std::shared_ptr<const part> make_text(std::int64_t most) {
    return std::make_shared<text_part>(most);
}

bool number_range::holds(std::int64_t units) const {
    return units >= low && units <= high && (units - low) % step == 0;
}

std::string number_range::spell(std::int64_t units) const {
    const auto size = units < 0 ? -units : units, one = power(decimals);
    auto out = fmt::format("{}{}", units < 0 ? "-" : "", size / one);
    if (size % one == 0) return out;
    auto fraction = fmt::format("{:0{}}", size % one, decimals);
    while (fraction.ends_with('0')) fraction.pop_back();
    return out.append(".").append(fraction);
}

std::optional<std::int64_t> number_range::read(std::string_view text) const {
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    const auto point = std::min(text.find('.'), text.size());
    auto fraction = std::string(text.substr(std::min(point + 1, text.size())));
    if (point == 0 || point > most_digits || (point < text.size() && fraction.empty()) ||
        std::ssize(fraction) > decimals)
        return std::nullopt;
    fraction.resize(static_cast<std::size_t>(decimals), '0');
    std::int64_t units = 0;
    for (const char c : std::string(text.substr(0, point)) + fraction) {
        if (c < '0' || c > '9' || units > power(most_digits)) return std::nullopt;
        units = 10 * units + (c - '0');
    }
    return negative ? -units : units;
}

}  // namespace rldp::data

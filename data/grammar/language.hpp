#pragma once
// Languages of bytes: what may come next, and whether it may end here.
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace rldp::data {

/// Where a reader stands in one part; what the numbers mean is the part's business.
struct mark {
    std::int64_t a = 0, b = 0, c = 0;
    auto operator<=>(const mark&) const = default;
};

/// A set of texts. Whatever begins one can be ended: next() answers nothing for a byte that no text goes on with.
class part {
  public:
    virtual ~part() = default;
    virtual mark begin() const = 0;
    virtual std::optional<mark> next(const mark& at, std::uint8_t byte) const = 0;
    virtual bool ends(const mark& at) const = 0;
    /// The same for all marks that no text of so many bytes tells apart.
    virtual mark within(const mark& at, std::int64_t bytes) const;
};

/// Parts one after the other.
using part_chain = std::vector<std::shared_ptr<const part>>;

/// A place in a language. It may be at several at once: "61." is a number that goes on, or one that a full stop ends.
struct position {
    std::uint32_t form = 0, part = 0;
    mark at;
    auto operator<=>(const position&) const = default;
};
using places = std::vector<position>;  ///< in order, none twice; empty: nothing begins so

/// Whatever one of its forms spells.
class language {
  public:
    explicit language(std::vector<part_chain> forms);

    places begin() const;
    places next(const places& from, std::uint8_t byte) const;
    places next(const places& from, std::string_view bytes) const;
    bool ends(const places& from) const;
    places within(const places& from, std::int64_t bytes) const;

  private:
    /// And where the next parts begin, as far as those before them may end.
    void add(position one, places& out) const;

    std::vector<part_chain> forms_;
};

}  // namespace rldp::data

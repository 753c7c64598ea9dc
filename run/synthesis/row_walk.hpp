#pragma once
// One row while it is made, token by token.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/grammar/language.hpp"
#include "run/synthesis/row_plan.hpp"

namespace rldp::actors {

/// Which tokens a place in a value admits, kept because many rows come by.
class token_lists {
  public:
    explicit token_lists(const data::vocabulary& tokens) : tokens_(tokens) {}
    const std::vector<std::int32_t>& find(const column_values& of, const data::places& at);

  private:
    const data::vocabulary& tokens_;
    std::vector<std::map<data::places, std::vector<std::int32_t>>> kept_;  ///< by the values' number
};

/// The words that follow a value are known as what they are only when all of them were read: until then a value may go
/// on ("61." and ".5"), so both readings are kept. Where the words were read to their end, the value has ended.
class row_walk {
  public:
    /// Keeps a reference to the plan, which has a slot at least.
    explicit row_walk(const row_plan& plan);

    enum class need : std::uint8_t {
        given,   ///< the next token is known
        choice,  ///< one of several
        over,    ///< the row is whole
        stuck,   ///< no token goes on
    };
    struct outlook {
        need what = need::over;
        std::int32_t token = 0;                             ///< where it is given
        const std::vector<std::int32_t>* values = nullptr;  ///< in rising order
        std::vector<std::int32_t> words = {};               ///< besides those
        bool may_end = false;                               ///< the row: what all other tokens are taken for
    };
    outlook look(token_lists& known) const;
    void take(std::int32_t token);
    void end();  ///< where it may

    bool over() const { return over_; }
    /// Of a row that is over: its whole text, and its cells by column; none where a text holds the words that end it.
    std::string text() const;
    std::optional<std::vector<std::string>> cells() const;

  private:
    /// Tokens of the words that follow the value, as far as they were read, and how long the value was before.
    struct reading {
        std::size_t words, value;
    };
    void settle(std::size_t value_size);

    const row_plan* plan_;
    std::size_t slot_ = 0;
    data::places at_;                ///< in the slot's values, as far as the value still goes on
    std::vector<reading> readings_;  ///< on which it has ended
    std::string value_;              ///< bytes since the slot began
    std::vector<std::string> values_;
    bool may_end_ = false, over_ = false;
};

}  // namespace rldp::actors

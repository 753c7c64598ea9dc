#pragma once
// Which tokens go on with a text of a language.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/grammar/language.hpp"

namespace rldp::data {

class vocabulary {
  public:
    /// The bytes that each id stands for; of an id without any nothing is ever said.
    explicit vocabulary(std::vector<std::string> spelled);

    const std::string& spell(std::int32_t id) const { return spelled_[static_cast<std::size_t>(id)]; }
    std::int64_t longest() const { return longest_; }  ///< bytes of a token
    /// Ids, in rising order, whose bytes lie in the language from there on: they may end a text of it, and none runs
    /// over its end.
    std::vector<std::int32_t> admissible(const language& in, const places& from) const;

  private:
    void collect(const language& in, const places& from, std::size_t begin, std::size_t end, std::size_t depth,
                 std::vector<std::int32_t>& out) const;

    std::vector<std::string> spelled_;
    std::vector<std::int32_t> order_;  ///< ids in the order of their bytes
    std::int64_t longest_ = 0;
};

}  // namespace rldp::data

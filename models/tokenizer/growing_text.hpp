#pragma once
// A text while it is generated: what is certain of it, up to a stop string.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/tokenizer/tokenizer.hpp"

namespace rldp::models {

class growing_text {
  public:
    /// Keeps a reference to `words`. It ends before the first of `stop`, none of which is empty.
    growing_text(const tokenizer& words, std::vector<std::int32_t> prompt, std::vector<std::string> stop);

    /// All tokens made so far; whether a stop string came.
    bool take(const std::vector<std::int32_t>& made);
    const std::string& text() const { return text_; }
    /// What may be shown now and was not yet: not the beginning of what may become a stop string, nor half a letter,
    /// unless it is `all` that will come.
    std::string news(bool all);

  private:
    const tokenizer& words_;
    std::vector<std::int32_t> prompt_;
    std::vector<std::string> stop_;
    std::string text_;
    std::size_t held_back_ = 0, shown_ = 0;  ///< bytes
};

}  // namespace rldp::models

#pragma once
// The grammar of the synthetic prose, as text. Internal.
#include <array>
#include <string_view>

namespace rldp::models {

/// Words and phrases; what people do; what papers say.
std::array<std::string_view, 3> prose_grammar();

extern const std::string_view prose_words, prose_scenes, prose_papers;

}  // namespace rldp::models

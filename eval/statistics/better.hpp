#pragma once

namespace rldp::eval {

/// Which of two values of a measure is the better one: of perplexity the lower, of accuracy the higher.
enum class better { lower, higher };

}  // namespace rldp::eval

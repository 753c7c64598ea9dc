#pragma once
// How long records become short enough. Internal to the two ways of tokenising.
#include <cstdint>
#include <vector>

namespace rldp::data {

/// Errors: bad_input where fewer than two tokens are to be kept, or there is no thread.
void check_cut(std::int64_t max_tokens, int threads);

/// Keeps the head or the tail; whether there was more.
bool cut_to(std::vector<std::int32_t>& tokens, std::int64_t max_tokens, bool keep_tail);

}  // namespace rldp::data

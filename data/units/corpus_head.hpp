#pragma once
// What a corpus_file says beside its tokens, as bytes. Internal to it.
#include <cstdint>
#include <span>
#include <vector>

#include "data/units/load_tokens.hpp"

namespace rldp::data::detail {

/// CBOR of everything but `train`.
std::vector<std::uint8_t> encode_head(const token_corpus& corpus);
token_corpus corpus_from(std::span<const std::uint8_t> head);

}  // namespace rldp::data::detail

#pragma once
// Rows from a model: a batch at a time, with a key/value cache, their opening words read once.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/causal_lm.hpp"
#include "run/synthesis/row_plan.hpp"

namespace rldp::actors {

struct row_sampling {
    std::uint64_t seed = 0;
    double temperature = 1;  ///< 0: the likeliest token
};

/// What a model says with an adapter, or without.
struct row_model {
    std::shared_ptr<const models::causal_lm> base;
    const models::lora_layout* layout = nullptr;
    const at::Tensor* adapter = nullptr;
};

/// A batch is given up where, of so many draws at least, fewer than one in most_draws_per_row reads back. One row alone
/// ends nothing: it would meet every call that goes on from there.
inline constexpr std::int64_t least_draws = 1000, most_draws_per_row = 20;

struct made_rows {
    std::vector<std::vector<std::string>> cells;  ///< by row, by column of the plan
    std::int64_t drawn = 0;                       ///< rows, of which those that could not be read back are no more
    std::int64_t chosen = 0, given = 0;           ///< tokens, of all of them
};

/// Rows `first` … `first + count - 1` of the table that plan, model and sampling mean: each is drawn from a stream of
/// random numbers of its own. The same for the same `first` and `count`, to the bit; for others, too, as far as
/// products of matrices are the same for a row whatever stands beside it. On the calling thread alone. Every row reads
/// back: told by the template it is the text that was made, and its values are of their types. Errors: bad_input where
/// too few draws do.
made_rows make_rows(const row_model& model, const row_plan& plan, const row_sampling& how, std::int64_t first,
                    std::int64_t count);

/// Of the choices among `logits` [V] of which a row's next token is one: -1 where the row ends. `uniform` in [0, 1).
std::int32_t choose_token(const float* logits, std::int64_t vocabulary, const std::vector<std::int32_t>& values,
                          const std::vector<std::int32_t>& words, bool may_end, double temperature, double uniform);

}  // namespace rldp::actors

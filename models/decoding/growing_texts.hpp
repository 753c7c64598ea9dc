#pragma once
// Texts that grow token by token, each in a place of its own. They may begin alike: that is read once.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "models/decoding/decoding_model.hpp"

namespace rldp::models {

/// What texts begin with, as attention sees it.
struct text_beginning {
    std::int64_t tokens = 0;
    std::vector<at::Tensor> pages;
    std::vector<float> logits;  ///< of what follows, [V]
};

class growing_texts {
  public:
    /// `longest`: tokens of a text, its beginning included; they lie in the model's window. Each place begins with
    /// `beginning`; without one it is empty.
    growing_texts(std::shared_ptr<const decoding_model> model, std::int64_t places, std::int64_t longest,
                  std::shared_ptr<const text_beginning> beginning = {});

    /// Tokens that follow what stands in a place; of a pass, at most one piece for each place.
    struct piece {
        std::int64_t place;
        std::span<const std::int32_t> tokens;
        bool wants_logits;
    };
    /// On the calling thread alone. What a place is told depends on its own tokens only, to the bit; not on how they
    /// came in pieces. Errors: bad_input for a token that the vocabulary lacks.
    void read(std::span<const piece> pieces);
    /// Of what follows piece `i` of the last read(), which wanted them: [V].
    const float* logits(std::size_t i) const;
    /// The place holds its beginning again.
    void restart(std::int64_t place);
    /// Tokens in a place.
    std::int64_t length(std::int64_t place) const;

    /// The text that place 0 holds, for others to begin with; this is not used any more.
    text_beginning take_beginning();

  private:
    struct place_memory {
        std::vector<at::Tensor> pages;
        std::int64_t tokens = 0;  ///< without the beginning
    };
    /// A token in its pass.
    struct row {
        std::int32_t token;
        std::int64_t place, own, position;  ///< own: behind the beginning
        std::size_t first_page, pages;      ///< in seen_
    };
    void list_rows(std::span<const piece> pieces);
    void embed(float* x) const;
    void norm(const decoding_model::norm& by, const float* x, std::int64_t stride, std::int64_t rows, float* out) const;
    void norm_heads(const decoding_model::norm& by, float* x, std::int64_t heads) const;
    void attend(std::size_t at, float* qkv, float* out);
    void keep(const row& of, std::size_t at, const float* k, const float* v) const;
    void add(const decoding_model::product& by, const decoding_model::norm& then, const float* from,
             std::int64_t from_stride, float* x);
    at::Tensor multiply(const decoding_model::product& by, const float* from, std::int64_t from_stride) const;
    void compute_logits(std::span<const piece> pieces, const float* x);

    std::shared_ptr<const decoding_model> model_;
    std::shared_ptr<const text_beginning> beginning_;
    std::int64_t begun_, longest_, value_stride_, head_floats_;
    at::Tensor cos_, sin_, sliding_cos_, sliding_sin_;  ///< [longest, d/2]
    std::vector<place_memory> places_;
    std::vector<at::Tensor> free_pages_;
    std::vector<row> rows_;
    std::vector<decoded_page> seen_;
    at::Tensor scratch_, logits_;
    std::vector<std::int64_t> logits_of_;  ///< row of logits_ by piece, or -1
};

/// Reads what texts are to begin with. Errors: as read().
std::shared_ptr<const text_beginning> read_beginning(std::shared_ptr<const decoding_model> model,
                                                     std::span<const std::int32_t> tokens);

}  // namespace rldp::models

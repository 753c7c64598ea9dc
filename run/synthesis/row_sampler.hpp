#pragma once
// Rows from a model: many at a time, each in a place of its own, which the next row takes when one is whole. Row n is
// drawn from a stream of random numbers of its own, and what the model says of it depends on nothing else: it is the
// same to the bit whatever rows are drawn beside it, on one thread or on several.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/decoding/growing_texts.hpp"
#include "run/synthesis/row_plan.hpp"
#include "run/synthesis/row_walk.hpp"

namespace rldp::actors {

struct row_sampling {
    std::uint64_t seed = 0;
    double temperature = 1;  ///< 0: the likeliest token
};

/// A model that has read what all rows begin with.
struct row_model {
    std::shared_ptr<const models::decoding_model> model;
    std::vector<std::int32_t> opening;  ///< may be empty
    std::shared_ptr<const models::text_beginning> read = {};
};
row_model make_row_model(std::shared_ptr<const models::decoding_model> model, std::vector<std::int32_t> opening);

/// Drawing is given up where, of so many draws at least, fewer than one in most_draws_per_row reads back. One row
/// alone ends nothing: it would meet every call that goes on from there.
inline constexpr std::int64_t least_draws = 1000, most_draws_per_row = 20;

struct row_counts {
    std::int64_t rows = 0;               ///< that are whole
    std::int64_t drawn = 0;              ///< those that were drawn again are no more
    std::int64_t chosen = 0, given = 0;  ///< tokens, of all of them
    std::int64_t cut = 0;                ///< texts that ended where no more tokens were allowed
    row_counts& operator+=(const row_counts& other);
};

/// One row or text while it is drawn.
class drawing {
  public:
    virtual ~drawing() = default;
    /// From the beginning, for the draw-th time. Answers the tokens that follow what all begin with.
    virtual std::vector<std::int32_t> begin(std::uint64_t draw) = 0;
    /// Goes on as far as tokens are known, which are added to `unread`; `logits` of the next one where the model was
    /// asked, else null. Whether it is over.
    virtual bool advance(const float* logits, std::vector<std::int32_t>& unread, row_counts& counts) = 0;
    /// What is written of it; none where it does not read back, and is drawn again.
    virtual std::optional<std::vector<std::string>> cells() const = 0;
};

/// Draws on the calling thread alone.
class sampler {
  public:
    /// `places`: drawings at a time. `longest`: tokens of one, its opening included. Keeps a reference to the model.
    sampler(const row_model& model, std::int64_t places, std::int64_t longest);

    struct numbered {
        std::uint64_t number;
        std::unique_ptr<drawing> what;
    };
    using source = std::function<std::optional<numbered>()>;
    using sink = std::function<void(std::uint64_t number, std::vector<std::string> cells)>;
    /// Draws what `next` gives until it gives nothing, and hands each over as soon as it is whole, in any order. Where
    /// `stop` says so it ends, and what is not whole is lost. Errors: bad_input where too few draws read back.
    row_counts run(const source& next, const sink& done, const std::function<bool()>& stop = {});

  private:
    struct place {
        std::uint64_t number = 0, draw = 0;
        std::unique_ptr<drawing> what;
        std::vector<std::int32_t> unread;  ///< tokens that the model has not seen
    };
    bool finish(place& at, const sink& done, row_counts& counts);

    const row_model& model_;
    models::growing_texts texts_;
    std::vector<place> places_;
};

/// A row of a plan with a slot at least, which begins with the model's opening. It reads back: told by the template it
/// is the text that was made, and its values are of their types. Keeps a reference to `known`.
std::unique_ptr<drawing> draw_row(std::shared_ptr<const row_plan> plan, const row_model& model, const row_sampling& how,
                                  std::uint64_t number, token_lists& known);

/// Rows `first` … `first + count - 1` of a plan, `places` at a time.
struct made_rows {
    std::vector<std::vector<std::string>> cells;  ///< by row, by column of the plan
    row_counts counts;
};
made_rows make_rows(const row_model& model, const row_plan& plan, const row_sampling& how, std::int64_t first,
                    std::int64_t count, std::int64_t places);

/// Of the choices among `logits` [V] of which a row's next token is one: -1 where the row ends. `uniform` in [0, 1).
std::int32_t choose_token(const float* logits, std::int64_t vocabulary, const std::vector<std::int32_t>& values,
                          const std::vector<std::int32_t>& words, bool may_end, double temperature, double uniform);

}  // namespace rldp::actors

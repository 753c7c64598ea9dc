#pragma once
// Made-up rows of a template: values drawn from what its schema declares, evenly. They are nobody's, and teach a model
// how a row is told (public.path "template:N").
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "data/sources/narrative.hpp"

namespace rldp::data {

/// What is proposed for public.path and public.steps where all columns have a declared type: each row is seen once
/// (docs/synthetic.md).
inline const std::string proposed_rows = "template:2000";
inline constexpr std::int64_t proposed_batches = 64;

/// "template:N". Nullopt for any other path. Errors: bad_input where N is not an integer from 1 to
/// limits::most_synthetic_records.
std::optional<std::int64_t> parse_template_rows(const std::string& path);

/// What stands for a missing value in a made-up table: nothing, where the template knows that.
std::string missing_cell(const row_template& how);

class made_up_stream {
  public:
    /// `codes` lists the values of columns whose type is "codes"; it may be null where there are none. Keeps references
    /// to neither. Errors: bad_input for a template without a schema, or codes that the book lacks.
    made_up_stream(const row_template& how, const code_book* codes, std::int64_t rows, std::uint64_t seed);
    ~made_up_stream();
    made_up_stream(const made_up_stream&) = delete;
    made_up_stream& operator=(const made_up_stream&) = delete;

    /// The next rows; nothing at the end.
    std::optional<table> next(std::int64_t rows);
    void rewind();

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace rldp::data

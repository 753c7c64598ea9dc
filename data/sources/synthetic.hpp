#pragma once
// Invented encounters with the schema of the UCI table "Diabetes 130-US hospitals 1999-2008" and distributions that
// look like it. No real person's values.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "data/sources/tables.hpp"

namespace rldp::data {

/// "synthetic:N" or "synthetic:N@WORLD".
struct synthetic_source {
    std::int64_t encounters = 1;
    std::uint64_t world = 0;  ///< 0 looks like the UCI table; other worlds' frequencies and ties are drawn
};

/// Nullopt for any other path. Errors: bad_input where N is not an integer from 1 to limits::most_synthetic_records, or
/// the world none up to limits::most_synthetic_worlds.
std::optional<synthetic_source> parse_synthetic(const std::string& path);

/// The first rows of the world's endless table that `seed` names; about three rows in ten are a known patient's.
table synthetic_table(const synthetic_source& from, std::uint64_t seed = 1);

/// The same rows, so many at a time.
class synthetic_stream {
  public:
    explicit synthetic_stream(const synthetic_source& from, std::uint64_t seed = 1);
    ~synthetic_stream();
    synthetic_stream(const synthetic_stream&) = delete;
    synthetic_stream& operator=(const synthetic_stream&) = delete;

    /// The next rows; nothing at the end.
    std::optional<table> next(std::int64_t rows);
    void rewind();

  private:
    struct state;
    std::unique_ptr<state> state_;
};

/// Meanings of the codes that synthetic_table() uses.
code_book synthetic_code_book();

}  // namespace rldp::data

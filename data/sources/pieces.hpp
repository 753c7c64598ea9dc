#pragma once
// A text file piece by piece: no more than a piece of it is in memory.
#include <cstddef>
#include <optional>
#include <string>

#include "data/sources/unpacked_file.hpp"

namespace rldp::data {

/// Whole lines of a file.
struct piece {
    std::string text;
    std::size_t line = 1;  ///< of the file, where it begins
};

/// Cuts a file at line ends.
class piece_reader {
  public:
    /// Line ends inside double quotes do not count where `quotes` is set. `size`: about how many bytes a piece has.
    /// Errors: see unpacked_file.
    piece_reader(const std::string& path, bool quotes, std::size_t size = 1 << 20);

    /// The next piece, without a byte-order mark; nothing at the end. Errors: bad_input where the file is empty or a
    /// piece is not UTF-8 (names the line).
    std::optional<piece> next();
    /// Begins again with the same file, even if another one has its name by now.
    void rewind();
    const std::string& path() const { return name_; }

  private:
    bool fill();
    void scan();

    std::string name_;
    unpacked_file file_;
    bool quotes_;
    std::size_t size_;
    std::string rest_;         ///< read, and not yet given out
    std::size_t scanned_ = 0;  ///< bytes of `rest_`
    std::size_t cut_ = 0;      ///< the last place to cut that scan() found, 0 for none
    bool inside_ = false;      ///< quotes, at `scanned_`
    bool begun_ = false, ended_ = false;
    std::size_t line_ = 1;
};

}  // namespace rldp::data

// A table: read whole, and piece by piece.
#include "data/sources/tables.hpp"

#include "tests/fuzz/reading.hpp"

using namespace rldp;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    fuzz::write("table.csv", fuzz::to_text(bytes, size));
    const auto path = (fuzz::directory() / "table.csv").string();
    std::optional<data::table> whole;
    fuzz::check_reading(size, [&] { whole = data::read_csv(path); });
    if (!whole) return 0;
    fuzz::check_reading(size, [&] {
        data::csv_stream pieces(path);
        std::size_t row = 0;
        while (const auto piece = pieces.next())
            for (std::size_t i = 0; i < piece->rows(); ++i, ++row) {
                fuzz::require(row < whole->rows() && piece->line(i) == whole->line(row), "another line");
                for (std::size_t column = 0; column < whole->columns().size(); ++column)
                    fuzz::require(piece->cell(i, column) == whole->cell(row, column), "another cell");
            }
        fuzz::require(row == whole->rows(), "rows were lost");
    });
    return 0;
}

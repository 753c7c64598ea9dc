#include "data/sources/table_rows.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "base/error.hpp"
#include "data/sources/json_lines.hpp"
#include "data/sources/records.hpp"
#include "data/sources/synthetic.hpp"

namespace rldp::data {

namespace {

template <class Stream>
class rows_of final : public table_rows {
  public:
    template <class... From>
    explicit rows_of(const From&... from) : stream_(from...) {}
    std::optional<table> next() override {
        if constexpr (std::is_same_v<Stream, synthetic_stream>)
            return stream_.next(4096);
        else
            return stream_.next();
    }
    void rewind() override { stream_.rewind(); }

  private:
    Stream stream_;
};

}  // namespace

std::unique_ptr<table_rows> open_table(const std::string& path) {
    if (const auto made_up = parse_synthetic(path)) return std::make_unique<rows_of<synthetic_stream>>(*made_up);
    switch (kind_of_data(path)) {
        case data_kind::table:
            return std::make_unique<rows_of<csv_stream>>(path);
        case data_kind::json_lines:
            return std::make_unique<rows_of<json_table_stream>>(path);
        case data_kind::text:
            break;
    }
    refuse(path + ": plain text has no columns; give a .csv, .tsv or .jsonl file");
}

row_identity::row_identity(const table& rows) : rows_(rows), by_name_(rows.columns().size()) {
    const auto& names = rows.columns();
    std::iota(by_name_.begin(), by_name_.end(), 0);
    std::sort(by_name_.begin(), by_name_.end(), [&](auto a, auto b) { return names[a] < names[b]; });
}

std::string row_identity::operator()(std::size_t row) const {
    std::string out;
    for (const auto column : by_name_) {
        const auto value = rows_.cell(row, column);
        if (value.empty()) continue;
        for (const std::string_view part : {std::string_view(rows_.columns()[column]), value})
            out.append(std::to_string(part.size())).append(":").append(part);
    }
    return out;
}

}  // namespace rldp::data

// What `rldp init` makes of a table and of JSON lines: a survey, and a template that reads them.
#include "data/survey/survey.hpp"

#include "data/sources/narrative.hpp"
#include "tests/fuzz/reading.hpp"

using namespace rldp;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    for (const char* name : {"table.csv", "lines.jsonl"}) {
        fuzz::write(name, fuzz::to_text(bytes, size));
        const auto path = (fuzz::directory() / name).string();
        fuzz::check_reading(size, [&] {
            const auto found = data::profile_data(path, {});
            for (const auto& column : found.columns) {
                std::size_t none = 0;
                for (const auto& [word, records] : column.taken_for_none) none += records;
                fuzz::require(column.decimal_commas + column.words_among_numbers + none <= found.records,
                              "more values than records");
            }
            if (found.kind == data::data_kind::text || found.has_text || found.has_chats) return;
            const auto how = data::parse_template(data::template_for(found, path), path);
            for (const auto& column : found.columns)
                fuzz::require(column.role != data::column_role::left_out || how.leave_out.contains(column.name),
                              "a column that identifies is told");
        });
    }
    return 0;
}

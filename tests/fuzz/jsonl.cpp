// JSON lines, as record units and grouped by a key; and the same bytes as lines of text.
#include "data/sources/records.hpp"
#include "tests/fuzz/reading.hpp"

using namespace rldp;

namespace {

void read(const char* name, std::optional<std::string> group, std::size_t size) {
    fuzz::check_reading(size, [&] {
        data::source from;
        from.path = fuzz::directory() / name;
        from.group = std::move(group);
        const auto records = data::open_records(from);
        while (const auto block = records->next())
            for (std::size_t i = 0; i < block->size(); ++i) {
                const auto whole = block->at(i), identity = block->identity(i);
                fuzz::require(whole.key == identity.key && whole.group == identity.group, "another identity");
                fuzz::require(block->line(i) >= 1, "a record on no line");
            }
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    for (const auto* name : {"records.jsonl", "records.txt"}) fuzz::write(name, fuzz::to_text(bytes, size));
    read("records.jsonl", std::nullopt, size);
    read("records.jsonl", "patient", size);
    read("records.txt", std::nullopt, size);
    return 0;
}

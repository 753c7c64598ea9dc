// public/metrics.jsonl: all of it, and up to what is damaged.
#include "eval/metrics/metrics.hpp"

#include <sstream>

#include "tests/fuzz/reading.hpp"

using namespace rldp;

namespace {

/// No input gets past a checksum by chance.
std::string with_checksums(const std::string& text) {
    std::string out, line;
    for (std::istringstream lines(text); std::getline(lines, line);)
        out += (line.empty() ? line : eval::with_checksum(line)) + "\n";
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto text = fuzz::text_of(bytes, size);
    const auto path = fuzz::directory() / "metrics.jsonl";
    eval::readable_metrics readable;
    fuzz::write("metrics.jsonl", text);
    fuzz::check_reading(size, [&] { readable = eval::read_metrics_before_damage(path); });
    fuzz::write("metrics.jsonl", with_checksums(std::string(text)));
    bool whole = false;
    fuzz::check_reading(size, [&] { readable = eval::read_metrics_before_damage(path); });
    fuzz::check_reading(size, [&] {
        eval::read_metrics(path);
        whole = true;
    });
    fuzz::require(whole == readable.damage.empty(), "damage that only one of two readers sees");
    for (const auto& line : readable.lines) {
        const auto written = eval::to_json(line);
        fuzz::require(eval::to_json(eval::parse_metrics_line(written)) == written, "a line reads back as another one");
    }
    return 0;
}

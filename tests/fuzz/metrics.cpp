// public/metrics.jsonl: all of it, and up to what is damaged.
#include "run/artifacts/metrics.hpp"

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
    const auto text = fuzz::to_text(bytes, size);
    const auto path = fuzz::directory() / "metrics.jsonl";
    std::vector<eval::metrics_line> lines;
    bool line_damaged = false;
    const auto read = [&](eval::stored_line& one) {
        line_damaged = line_damaged || !one.damage.empty();
        if (one.damage.empty()) lines.push_back(one.line);
    };
    fuzz::write("metrics.jsonl", text);
    fuzz::check_reading(size, [&] { eval::each_line(path, read); });
    fuzz::write("metrics.jsonl", with_checksums(std::string(text)));
    line_damaged = false;
    lines.clear();
    bool to_the_end = false, whole = false;  // a Git LFS pointer is refused before its first line
    fuzz::check_reading(size, [&] {
        eval::each_line(path, read);
        to_the_end = true;
    });
    fuzz::check_reading(size, [&] {
        eval::read_metrics(path);
        whole = true;
    });
    fuzz::require(whole == (to_the_end && !line_damaged), "damage that only one of two readers sees");
    for (const auto& line : lines) {
        const auto written = eval::to_json(line);
        fuzz::require(eval::to_json(eval::parse_metrics_line(written)) == written, "a line reads back as another one");
    }
    return 0;
}

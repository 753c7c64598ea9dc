#include "tests/faults/results.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>

#include "tests/faults/classes.hpp"

namespace rldp::testing {

namespace {

const std::vector<std::string> outcomes{"finished", "resumed", "refused", "FAILED"};

std::string on_one_line(std::string text) {
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    return text;
}

}  // namespace

void append(const path& file, const result& what) {
    const auto line = fmt::format("{}\t{}\t{}\t{}\t{:.2f}\t{}\n", what.seed, what.number, what.fault,
                                  what.ended.outcome, what.seconds, on_one_line(what.ended.symptom));
    // One write: workers append side by side.
    const int to = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const auto written = ::write(to, line.data(), line.size());
    ::close(to);
    if (written != static_cast<long>(line.size())) throw std::runtime_error(file.string() + ": can't be appended to");
}

std::vector<result> read_results(const path& file, std::uint64_t seed) {
    std::vector<result> out;
    for (const auto& line : split_lines(read_content(file))) {
        std::istringstream parts(line);
        std::vector<std::string> fields(6);
        for (auto& field : fields) std::getline(parts, field, '\t');
        result read{
            std::stoull(fields[0]), std::stoull(fields[1]), fields[2], {fields[3], fields[5]}, std::stod(fields[4])};
        if (read.seed == seed) out.push_back(std::move(read));
    }
    return out;
}

std::string format_table(const std::vector<result>& all) {
    std::map<std::string, std::map<std::string, int>> counts;
    for (const auto& one : all) {
        ++counts[one.fault][one.ended.outcome];
        ++counts["all"][one.ended.outcome];
    }
    std::vector<std::string> rows;
    for (const auto& one : fault_classes()) rows.push_back(one.name);
    rows.emplace_back("all");
    auto out = fmt::format("| {:<18} | {:>8} | {:>8} | {:>8} | {:>8} |\n| --- | ---: | ---: | ---: | ---: |\n", "class",
                           "finished", "resumed", "refused", "FAILED");
    for (const auto& row : rows) {
        out += fmt::format("| {:<18}", row);
        for (const auto& outcome : outcomes) out += fmt::format(" | {:>8}", counts[row][outcome]);
        out += " |\n";
    }
    for (const auto& one : all)
        if (one.ended.outcome == "FAILED")
            out += fmt::format("FAILED {}: seed {}, case {}: {}\n", one.fault, one.seed, one.number, one.ended.symptom);
    return out;
}

bool any_failed(const std::vector<result>& all) {
    return std::any_of(all.begin(), all.end(), [](const auto& one) { return one.ended.outcome == "FAILED"; });
}

}  // namespace rldp::testing

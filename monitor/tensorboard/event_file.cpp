#include "monitor/tensorboard/event_file.hpp"

#include <fmt/format.h>

#include <boost/crc.hpp>
#include <cmath>
#include <cstring>
#include <protozero/pbf_writer.hpp>

#include "base/files.hpp"
#include "run/artifacts/quantities.hpp"

namespace rldp::monitor {

namespace {

// Castagnoli's polynomial, as TFRecords have it.
using crc32c = boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true>;

template <class Whole>
std::string little_endian(Whole value) {
    std::string out;
    for (std::size_t i = 0; i < sizeof value; ++i) out += static_cast<char>(value >> (8 * i) & 0xFFU);
    return out;
}

/// A checksum of bytes that hold checksums would be predictable: it is rotated (tensorflow/core/lib/hash/crc32c.h).
std::string masked_checksum(const std::string& of) {
    crc32c sum;
    sum.process_bytes(of.data(), of.size());
    const std::uint32_t value = sum.checksum();
    return little_endian(((value >> 15U) | (value << 17U)) + 0xA282EAD8U);
}

/// Length, its checksum, content, its checksum.
std::string record(const std::string& content) {
    const auto length = little_endian<std::uint64_t>(content.size());
    return length + masked_checksum(length) + content + masked_checksum(content);
}

// Numbers of the fields in event.proto and summary.proto.
enum event_field : protozero::pbf_tag_type { wall_time = 1, step = 2, file_version = 3, summary = 5 };
enum summary_field : protozero::pbf_tag_type { value = 1 };
enum value_field : protozero::pbf_tag_type { tag = 1, simple_value = 2 };

void add(std::string& all, const std::string& name, std::optional<double> what) {
    if (!what || !std::isfinite(*what)) return;
    std::string one;
    protozero::pbf_writer of_value(one);
    of_value.add_string(tag, name);
    of_value.add_float(simple_value, static_cast<float>(*what));
    protozero::pbf_writer(all).add_message(value, one);
}

}  // namespace

std::string event_file_head() {
    std::string out;
    protozero::pbf_writer event(out);
    event.add_double(wall_time, 0);
    event.add_string(file_version, "brain.Event:2");
    return record(out);
}

std::string make_event(const eval::metrics_line& line) {
    std::string values;
    for (const auto& row : eval::quantities) {
        // A step's line repeats the last price that is known; the price of the step itself may come after it.
        if (row.when == eval::moment::price && line.progress.step != line.step) continue;
        add(values, std::string(row.tag), row.value_in(line));
        if (const auto in = row.interval_in(line)) {
            add(values, fmt::format("{}_low", row.tag), in->low);
            add(values, fmt::format("{}_high", row.tag), in->high);
        }
    }
    if (values.empty()) return {};
    std::string out;
    protozero::pbf_writer event(out);
    event.add_double(wall_time, static_cast<double>(line.step));
    event.add_int64(step, line.step);
    event.add_message(summary, values);
    return record(out);
}

event_log::event_log(const std::filesystem::path& directory, const std::vector<eval::metrics_line>& known)
    : path_(directory / "events.out.tfevents.rldp") {
    make_directory(directory);
    replace(known);
}

void event_log::replace(const std::vector<eval::metrics_line>& lines) {
    auto whole = event_file_head();
    for (const auto& line : lines) whole += make_event(line);
    file_.reset();
    write_file(path_, whole);
    file_.emplace(path_);
}

}  // namespace rldp::monitor

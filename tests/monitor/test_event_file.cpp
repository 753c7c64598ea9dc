#include "monitor/tensorboard/event_file.hpp"

#include <cstring>
#include <limits>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "tests/catch.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::monitor;

namespace {

template <class Whole>
Whole number_at(const std::string& bytes, std::size_t at) {
    Whole out;
    std::memcpy(&out, bytes.data() + at, sizeof out);
    return out;
}

/// CRC-32C bit by bit, rotated: what tensorflow/core/lib/hash/crc32c.h says.
std::uint32_t masked(const std::string& bytes) {
    std::uint32_t sum = ~0U;
    for (const char c : bytes) {
        sum ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) sum = sum >> 1U ^ (sum & 1U ? 0x82F63B78U : 0U);
    }
    sum = ~sum;
    return (sum >> 15U | sum << 17U) + 0xA282EAD8U;
}

/// The contents of a file's records, whose checksums are right.
std::vector<std::string> list_records(std::string bytes) {
    std::vector<std::string> out;
    while (!bytes.empty()) {
        const auto length = number_at<std::uint64_t>(bytes, 0);
        CHECK(number_at<std::uint32_t>(bytes, 8) == masked(bytes.substr(0, 8)));
        out.push_back(bytes.substr(12, length));
        CHECK(number_at<std::uint32_t>(bytes, 12 + length) == masked(out.back()));
        bytes.erase(0, 16 + length);
    }
    return out;
}

struct told_event {
    std::int64_t step = 0;
    std::map<std::string, float> values;
};

told_event event_from(const std::string& record) {
    told_event out;
    protozero::pbf_reader of_event(record);
    while (of_event.next()) {
        if (of_event.tag() == 2) {
            out.step = of_event.get_int64();
        } else if (of_event.tag() == 5) {
            auto summary = of_event.get_message();
            while (summary.next(1)) {
                auto value = summary.get_message();
                std::string name;
                while (value.next())
                    if (value.tag() == 1)
                        name = value.get_string();
                    else
                        out.values[name] = value.get_float();
            }
        } else {
            of_event.skip();
        }
    }
    return out;
}

eval::metrics_line step(std::int64_t which) {
    eval::metrics_line out;
    out.step = which;
    out.loss_released = 1.5;
    out.noise_multiplier = 0.5;
    out.radii = {0.25, 0.75};
    out.progress = {2, out.step};
    return out;
}

}  // namespace

TEST_CASE("a file of events begins as TensorBoard's own do") {
    const auto head = event_file_head();
    // The first twelve bytes of any that TensorFlow wrote: a record of 24 bytes, and the length's checksum.
    CHECK(head.substr(0, 12) == std::string("\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22", 12));
    CHECK(list_records(head).front().find("brain.Event:2") != std::string::npos);
}

TEST_CASE("a step's scalars are one event, an evaluation's another, and nothing is none") {
    const auto read = event_from(list_records(make_event(step(7))).front());
    CHECK(read.step == 7);
    CHECK(read.values == std::map<std::string, float>{{"loss/released", 1.5F},
                                                      {"privacy/noise_multiplier", 0.5F},
                                                      {"privacy/progress_epsilon", 2.F},
                                                      {"clip/mean_radius", 0.5F}});
    eval::metrics_line evaluated;
    evaluated.step = 7;
    evaluated.eval_perplexity = 3;
    CHECK(event_from(list_records(make_event(evaluated)).front()).values ==
          std::map<std::string, float>{{"held_out/perplexity", 3.F}});
    CHECK(make_event({}).empty());
    auto priced = step(8);
    priced.progress.step = 7;  // known before, and repeated; the step's own price comes behind it
    CHECK_FALSE(event_from(list_records(make_event(priced)).front()).values.contains("privacy/progress_epsilon"));
    evaluated.eval_perplexity = std::numeric_limits<double>::infinity();  // TensorBoard would draw none either
    CHECK(make_event(evaluated).empty());
}

TEST_CASE("a resumed run's file holds the steps before, and in the end all in order") {
    const scratch_directory scratch;
    const auto steps = [&] {
        std::vector<std::int64_t> out;
        for (const auto& record : list_records(read_file(scratch / "tb/events.out.tfevents.rldp")))
            out.push_back(event_from(record).step);
        return out;
    };
    event_log subject(scratch / "tb", {step(1), step(2)});
    subject.append(step(3));
    CHECK(steps() == std::vector<std::int64_t>{0, 1, 2, 3});
    subject.replace({step(1), step(2), step(3), step(4)});
    CHECK(steps() == std::vector<std::int64_t>{0, 1, 2, 3, 4});
}

// What is said where memory runs out.
#include <unistd.h>

#include <new>
#include <stdexcept>
#include <string>

#include "config/base/machine_memory.hpp"
#include "tests/catch.hpp"

using rldp::line_of;

namespace {

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("memory that runs out is told in one line: what was asked for, and what there is") {
    const auto torch = line_of(std::runtime_error(
        "[enforce fail at alloc_cpu.cpp:66] . DefaultCPUAllocator: can't allocate memory: you tried to allocate "
        "5368709120 bytes. Error code 12 (Cannot allocate memory)\nException raised from alloc_cpu at x.cpp:1\nframe"));
    CHECK(torch.starts_with("not enough memory: 5.0 GiB was asked for"));
    CHECK(holds(torch, "of this machine's " + rldp::memory_text(rldp::memory_there())));
    CHECK(holds(torch, "train.micro_batch"));
    CHECK_FALSE(holds(torch, "\n"));
    CHECK(line_of(std::runtime_error("CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 79 GiB total capacity)"))
              .starts_with("not enough memory: 20.00 MiB on the device was asked for"));
    CHECK(line_of(std::bad_alloc()).starts_with("not enough memory: more was asked for"));
}

TEST_CASE("of any other exception the first line is told") {
    CHECK(line_of(std::runtime_error("mat1 and mat2\nException raised from")) == "mat1 and mat2");
    CHECK(line_of(std::runtime_error("")).empty());
    CHECK(line_of(std::runtime_error("you tried to allocate 5 bytes")) == "you tried to allocate 5 bytes");
}

TEST_CASE("memory is counted in bytes, and in GiB for people") {
    CHECK(rldp::memory_text(std::int64_t{3} << 29) == "1.5 GiB");
    const auto there = rldp::memory_there();
    CHECK(there > (std::int64_t{1} << 28));
    CHECK(there <=
          static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::int64_t>(sysconf(_SC_PAGESIZE)));
}

// What is said where memory runs out.
#include <unistd.h>

#include <new>
#include <stdexcept>
#include <string>

#include "base/system.hpp"
#include "tests/catch.hpp"

using rldp::describe_exception;

namespace {

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("memory that runs out is told in one line: what was asked for, and what there is") {
    const auto torch = describe_exception(std::runtime_error(
        "[enforce fail at alloc_cpu.cpp:66] . DefaultCPUAllocator: can't allocate memory: you tried to allocate "
        "5368709120 bytes. Error code 12 (Cannot allocate memory)\nException raised from alloc_cpu at x.cpp:1\nframe"));
    CHECK(torch.starts_with("not enough memory: 5.0 GiB was asked for"));
    CHECK(holds(torch, "of this machine's " + rldp::memory_text(rldp::memory_there())));
    CHECK(holds(torch, "train.micro_batch"));
    CHECK_FALSE(holds(torch, "\n"));
    const auto begin = [](const char* said) {
        const auto line = describe_exception(std::runtime_error(said));
        return line.substr(0, line.find(';'));
    };
    CHECK(begin("CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 79.15 GiB total capacity; 78.00 GiB already "
                "allocated; 12.00 MiB free; 78.50 GiB reserved in total by PyTorch)") ==
          "not enough memory: 20.00 MiB was asked for on the CUDA device where 12.00 MiB are free, of 79.15 GiB");
    CHECK(begin("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.50 "
                "GiB is free. Process 4711 has 60.00 GiB memory in use. Including non-PyTorch memory, this process has "
                "17.60 GiB memory in use.") ==
          "not enough memory: 2.00 GiB was asked for on the CUDA device where 1.50 GiB are free, of 79.15 GiB (another "
          "program holds 60.00 GiB: nvidia-smi)");
    CHECK(begin("CUDA out of memory. Tried to allocate 20.00 MiB") ==
          "not enough memory: 20.00 MiB was asked for on the CUDA device");
    CHECK(begin("CUDA error: out of memory") == "not enough memory: more was asked for on the CUDA device");
    CHECK(begin("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`") ==
          "not enough memory: more was asked for on the CUDA device");
    CHECK(describe_exception(std::bad_alloc()).starts_with("not enough memory: more was asked for"));
}

TEST_CASE("of a CUDA device that is lost the error is told, and that a run can go on") {
    const auto line = describe_exception(
        std::runtime_error("CUDA error: unspecified launch failure\nCUDA kernel errors might be asynchronously "
                           "reported at some other API"));
    CHECK(line.starts_with("CUDA error: unspecified launch failure; the CUDA device was lost or failed"));
    CHECK(line.ends_with("a run can be resumed"));
}

TEST_CASE("of any other exception the first line is told") {
    CHECK(describe_exception(std::runtime_error("mat1 and mat2\nException raised from")) == "mat1 and mat2");
    CHECK(describe_exception(std::runtime_error("")).empty());
    CHECK(describe_exception(std::runtime_error("you tried to allocate 5 bytes")) == "you tried to allocate 5 bytes");
}

TEST_CASE("a time is told in round figures") {
    CHECK(time_text(0.0321) == "0.032 s");
    CHECK(time_text(99.6) == "100 s");
    CHECK(time_text(754) == "13 min");
    CHECK(time_text(9000) == "2.5 h");
    CHECK(time_text(93'600) == "26 h");
    CHECK(time_text(300'000) == "3.5 days");
}

TEST_CASE("memory is counted in bytes, and in GiB for people") {
    CHECK(rldp::memory_text(std::int64_t{3} << 29) == "1.5 GiB");
    const auto there = rldp::memory_there();
    CHECK(there > (std::int64_t{1} << 28));
    CHECK(there <=
          static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::int64_t>(sysconf(_SC_PAGESIZE)));
}

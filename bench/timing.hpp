#pragma once
// Spans of work that may go on on a device.
#include <torch/cuda.h>

#include <chrono>
#include <vector>

#include "bench/child.hpp"

namespace rldp::bench {

/// Milliseconds until `work` is done, on its device too.
template <class Work>
double measure_milliseconds(at::Device device, const Work& work) {
    const auto wait = [&] {
        if (device.is_cuda()) torch::cuda::synchronize();
    };
    wait();
    const auto begin = std::chrono::steady_clock::now();
    work();
    wait();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// Median over `repeats` calls after one that does not count.
template <class Work>
double median_milliseconds(int repeats, at::Device device, const Work& work) {
    work();
    std::vector<double> spans;
    for (int i = 0; i < repeats; ++i) spans.push_back(measure_milliseconds(device, work));
    return median(spans);
}

}  // namespace rldp::bench

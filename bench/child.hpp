#pragma once
// Work measured in a process of its own, so that its peak memory is its own.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <vector>

#include "base/error.hpp"

namespace rldp::bench {

struct child_result {
    std::vector<double> figures;
    double peak_mebibytes;  ///< resident, of the whole process
};

/// Runs `work`, which returns at most 1000 figures, in a child. Torch must not have computed in this process before:
/// its threads do not survive a fork. Errors: failed where the child fails, which has then said why.
template <class Work>
child_result in_child(Work work) {
    int ends[2];
    if (pipe(ends) != 0) throw error(errc::failed, "bench: no pipe");
    const pid_t child = fork();
    if (child < 0) throw error(errc::failed, "bench: no process");
    if (child == 0) {
        bool sent = false;
        try {
            const std::vector<double> figures = work();
            const std::size_t bytes = figures.size() * sizeof(double);
            sent = write(ends[1], figures.data(), bytes) == static_cast<ssize_t>(bytes);
        } catch (const std::exception& e) {
            std::fprintf(stderr, "bench: %s\n", e.what());
        }
        _exit(sent ? 0 : 1);
    }
    close(ends[1]);
    child_result out{{}, 0};
    double figure = 0;
    while (read(ends[0], &figure, sizeof figure) == sizeof figure) out.figures.push_back(figure);
    close(ends[0]);
    int status = 0;
    rusage usage{};
    wait4(child, &status, 0, &usage);
    if (status != 0) throw error(errc::failed, "bench: a run failed");
    out.peak_mebibytes = static_cast<double>(usage.ru_maxrss) / 1024;
    return out;
}

/// What other work on the machine disturbed least.
inline double least(const std::vector<double>& values) {
    return *std::min_element(values.begin(), values.end());
}
inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

}  // namespace rldp::bench

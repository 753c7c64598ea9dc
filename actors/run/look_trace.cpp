#include "actors/run/look_trace.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "config/base/error.hpp"
#include "config/base/files.hpp"

namespace rldp::actors {

std::vector<double> look_canary(std::size_t number, std::size_t entries) {
    std::vector<double> out(entries);
    out[number % entries] = std::ldexp(1.0, -static_cast<int>(number / entries));
    return out;
}

std::vector<traced_look> read_look_trace(const std::filesystem::path& path) try {
    std::vector<traced_look> out;
    for (const auto& each : nlohmann::json::parse(read_file(path)))
        out.push_back({each.at("look").get<std::int64_t>(), each.at("released").get<std::vector<double>>(),
                       each.at("others").get<std::vector<double>>()});
    for (const auto& each : out)
        refuse_unless(!each.released.empty() && each.released.size() == each.others.size() &&
                          each.released.size() == out.front().released.size(),
                      path.string() + ": looks of different lengths; bring back the run's own file");
    return out;
} catch (const nlohmann::json::exception&) {
    refuse(path.string() + ": is damaged; bring back the run's own file");
}

void add_to_trace(const std::filesystem::path& path, const traced_look& made) {
    auto all = std::filesystem::exists(path) ? read_look_trace(path) : std::vector<traced_look>{};
    all.push_back(made);
    auto out = nlohmann::json::array();
    for (const auto& each : all)
        out.push_back({{"look", each.look}, {"released", each.released}, {"others", each.others}});
    write_file(path, out.dump() + "\n");
}

std::vector<double> look_scores(const std::vector<traced_look>& trace, std::size_t canaries) {
    std::vector<double> out(canaries);
    if (trace.empty() || canaries == 0) return out;
    const auto entries = trace.front().released.size();
    std::vector<double> left(entries);
    for (const auto& each : trace)
        for (std::size_t i = 0; i < entries; ++i)
            left[i] += (each.released[i] - each.others[i]) / static_cast<double>(trace.size());
    const double least = std::ldexp(1.0, -static_cast<int>((canaries - 1) / entries));
    for (std::size_t j = 0; j < canaries; ++j) {
        const auto at = j % entries;
        const double own = look_canary(j, entries)[at];
        // All smaller ones together add less than this one.
        const bool in = left[at] > own - least / 2;
        if (in) left[at] -= own;
        out[j] = in ? own : -own;
    }
    return out;
}

}  // namespace rldp::actors

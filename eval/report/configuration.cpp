#include "eval/report/configuration.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "config/base/files.hpp"

namespace rldp::eval {

namespace {

/// A path may be any bytes but this one.
constexpr char between_places = '\0';

}  // namespace

void write_configuration(const run_directory& run, const config::run_config& config) {
    write_file(run.config(), config::to_public_json(config));
    std::string places;
    for (const auto& one : config::list_places(config)) places.append(one).push_back(between_places);
    write_file(run.places(), places);
}

std::vector<std::string> read_places(const run_directory& run) {
    std::vector<std::string> out;
    if (!std::filesystem::exists(run.places())) return out;
    const auto all = read_file(run.places());
    for (std::string_view left = all; !left.empty();) {
        const auto next = left.substr(0, left.find(between_places));
        out.emplace_back(next);
        left.remove_prefix(std::min(left.size(), next.size() + 1));
    }
    return out;
}

config::run_config read_configuration(const run_directory& run, const std::vector<std::string>& overrides) {
    auto all = read_places(run);
    all.insert(all.end(), overrides.begin(), overrides.end());
    return config::load(run.config(), all);
}

config::run_config load_configuration(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
    const auto whole = std::filesystem::absolute(file).lexically_normal();
    const run_directory run{whole.parent_path().parent_path()};
    return whole == run.config() && std::filesystem::exists(run.places()) ? read_configuration(run, overrides)
                                                                          : config::load(file, overrides);
}

}  // namespace rldp::eval

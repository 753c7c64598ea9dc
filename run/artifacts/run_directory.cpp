#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/files.hpp"
#include "run/artifacts/run_directory.hpp"
#include "run/artifacts/summary.hpp"

namespace rldp::eval {

namespace fs = std::filesystem;

namespace {

/// The certificate is put into public/ last, after everything else is written and every secret erased. An interrupted
/// run has one, too, which goes when it goes on.
bool has_ended(const run_directory& run) {
    return fs::exists(run.certificate()) && fs::exists(run.summary()) &&
           parse_summary(read_text(run.summary())).how != ending::interrupted;
}

}  // namespace

run_state read_state(const run_directory& run) {
    if (!fs::exists(run.ledger())) return run_state::none;
    if (fs::exists(run.key())) return run_state::unfinished;
    // In the order in which another process goes on: a certificate that waits no more has been published.
    if (fs::exists(run.waiting_certificate())) return run_state::ending;
    return has_ended(run) ? run_state::over : run_state::lost;
}

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

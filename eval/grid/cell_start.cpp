#include "eval/grid/cell_start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "config/base/files.hpp"
#include "config/base/input_file.hpp"
#include "config/base/nascent_directory.hpp"
#include "eval/report/run_state.hpp"

namespace rldp::eval {
namespace {

namespace fs = std::filesystem;

// The run's directory and the unnamed ones that a run makes before its ledger begins.
void clear_place(const cell_files& files) {
    fs::remove_all(files.run().root);
    staged_directory::remove_abandoned_of(files.run().root);
}

void share(std::vector<std::string>& arguments, const run_settings& how) {
    arguments.insert(arguments.end(), {"--corpora", grid_directory{how.out}.corpora().string(), "--json", "--quiet"});
}

std::vector<std::string> arguments_for(const cell& one, const cell_files& files, const run_settings& how) {
    std::vector<std::string> out = {"run", how.config.string()};
    for (const auto* overrides : {&how.set, &one.overrides})
        for (const auto& text : *overrides) out.insert(out.end(), {"--set", text});
    out.insert(out.end(),
               {"--out", files.run().root.string(), "--lessons", grid_directory{how.out}.lessons().string()});
    share(out, how);
    return out;
}

// The last whole line that names a step: an evaluation's line comes after those of later steps.
std::int64_t last_step(const fs::path& path) {
    constexpr std::uintmax_t tail = 1 << 16;
    if (!fs::exists(path)) return 0;
    input_file file(path);
    file.seek(file.size() - std::min(file.size(), tail));
    std::string text(tail, '\0');
    text.resize(file.read(text.data(), text.size()));
    std::istringstream in(text);
    std::int64_t last = 0;
    for (std::string line; std::getline(in, line);) {
        const auto parsed = nlohmann::json::parse(line, nullptr, false);
        if (parsed.is_object() && parsed.contains("step") && parsed["step"].is_number_integer())
            last = std::max(last, parsed["step"].get<std::int64_t>());
    }
    return last;
}

}  // namespace

bool lacks_audit(const cell_files& files, const run_settings& how) {
    return how.audit && finished_summary(files) && !fs::exists(files.run().audit_json());
}

cell_start choose_start(const cell& one, const cell_files& files, const run_settings& how) {
    if (lacks_audit(files, how)) return {start_kind::audit, {"audit", files.run().root.string(), "--quiet"}};
    switch (read_state(files.run())) {
        case run_state::none:
            clear_place(files);
            return {start_kind::anew, arguments_for(one, files, how)};
        case run_state::over:
            return {start_kind::keep, {}};
        case run_state::lost:
            return {start_kind::impossible, {}};
        case run_state::unfinished:
        case run_state::ending:
            break;
    }
    cell_start out{start_kind::resume, {"run", "--resume", files.run().root.string()}};
    share(out.arguments, how);
    return out;
}

double step_counter::fraction() {
    if (planned_ == 0)
        if (const auto committed = read_commitment(files_)) planned_ = committed->steps;
    if (planned_ == 0) return 0;
    step_ = std::max(step_, last_step(files_.run().metrics()));
    return std::min(1.0, static_cast<double>(step_) / static_cast<double>(planned_));
}

}  // namespace rldp::eval

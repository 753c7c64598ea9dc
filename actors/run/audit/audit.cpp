#include "actors/run/audit/audit.hpp"

#include <chrono>
#include <limits>

#include "actors/run/audit/attacks.hpp"
#include "config/base/files.hpp"

namespace rldp::actors {

eval::audit_report audit(const audited_run& run, const std::vector<std::filesystem::path>& shadows) {
    using clock = std::chrono::steady_clock;
    const auto begun = clock::now();
    const bool promised = run.header.guarantee().holds();
    eval::audit_report out;
    out.run = run.where.root.string();
    out.method = run.method;
    out.step = run.step;
    out.steps = run.header.steps;
    out.claimed_epsilon = promised ? run.header.epsilon_guaranteed : std::numeric_limits<double>::infinity();
    out.delta = run.header.delta;
    out.confidence = run.spec.audit.confidence;
    out.bounds = bound_epsilon(run, out.left_out);
    out.membership = guess_members(run, out.left_out);
    if (!shadows.empty()) out.shadows = compare_with_shadows(run, shadows, out.left_out);
    out.exposure = expose(run);
    out.extractions = extract(run, out.left_out);
    out.seconds = std::chrono::duration<double>(clock::now() - begun).count();
    if (std::filesystem::exists(run.where.audit_json())) out.course = eval::read_course(run.where.audit_json());
    std::erase_if(out.course, [&](const auto& point) { return point.step >= out.step; });
    out.course.push_back(eval::make_point(out));
    return out;
}

std::filesystem::path write_audit(const eval::run_directory& where, const eval::audit_report& report) {
    create_private_directory(where.audit());
    write_file(where.audit_json(), eval::audit_json(report), 0600);
    write_file(where.audit_text(), eval::audit_text(report), 0600);
    write_file(where.audit_page(), eval::audit_html(report), 0600);
    return where.audit_page();
}

}  // namespace rldp::actors

// audit.txt: what the command prints.
#include <fmt/format.h>

#include "eval/audit/report/words.hpp"
#include "eval/report/text_table.hpp"

namespace rldp::eval {

namespace {

std::string section(const std::string& title, const text_rows& rows) {
    return rows.size() < 2 ? std::string() : fmt::format("\n{}\n{}", title, text_table(rows));
}

}  // namespace

std::string audit_text(const audit_report& report) {
    auto out = fmt::format("{}\n{}\n{} after {} of {} steps, method {}\n", conclusion(report), verdict(report),
                           report.run, report.step, report.steps, report.method);
    out += section("Lower bound on ε", bound_rows(report)) + section("Membership", membership_rows(report)) +
           section("Exposure of planted secrets", exposure_rows(report)) +
           section("Extraction", extraction_rows(report));
    if (!report.left_out.empty()) out += "\nLeft out\n";
    for (const auto& line : report.left_out) out += "  " + line + "\n";
    return out + fmt::format("\n{:.0f} s\n", report.seconds);
}

}  // namespace rldp::eval

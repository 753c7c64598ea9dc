#pragma once
// An audit's numbers in rows and sentences, for terminal and page.
#include <string>
#include <vector>

#include "eval/audit/report/report.hpp"

namespace rldp::eval {

using text_rows = std::vector<std::vector<std::string>>;

/// With a head row each.
text_rows bound_rows(const audit_report& report);
text_rows membership_rows(const audit_report& report);  ///< and LiRA's
text_rows exposure_rows(const audit_report& report);
text_rows extraction_rows(const audit_report& report);

/// What the numbers mean and do not mean; empty where there are none.
std::string about_bounds(const audit_report& report);
std::string about_membership(const audit_report& report);
std::string about_exposure(const audit_report& report);
std::string about_extraction(const audit_report& report);

}  // namespace rldp::eval

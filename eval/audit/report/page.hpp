#pragma once
// An audit shown: its figures, and its numbers in words.
#include <string>
#include <vector>

#include "eval/audit/report/report.hpp"
#include "eval/report/page.hpp"

namespace rldp::eval {

/// ROC of every membership attack; scores of members and others; log-perplexities of references and secrets; the
/// course over snapshots, where there are several. Those without numbers are left out.
std::vector<captioned> audit_figures(const audit_report& report);

// Words. An audit's numbers in rows and sentences, for terminal and page.

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

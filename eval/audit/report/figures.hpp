#pragma once
// The audit's figures.
#include <vector>

#include "eval/audit/report/report.hpp"
#include "eval/report/figures.hpp"

namespace rldp::eval {

/// ROC of every membership attack; scores of members and others; log-perplexities of references and secrets; the
/// course over snapshots, where there are several. Those without numbers are left out.
std::vector<captioned> audit_figures(const audit_report& report);

}  // namespace rldp::eval

#include "eval/grid/cell_audit.hpp"

#include <nlohmann/json.hpp>

#include "config/base/error.hpp"
#include "config/base/files.hpp"
#include "eval/metrics/json_number.hpp"

namespace rldp::eval {

std::map<std::string, double> read_attacks(const std::filesystem::path& audit_json) {
    if (!std::filesystem::exists(audit_json)) return {};
    std::map<std::string, double> out;
    try {
        const auto read = nlohmann::ordered_json::parse(read_text(audit_json));
        const auto take = [&](const char* name, const nlohmann::ordered_json& value) {
            if (!value.is_null()) out[name] = number_from(value);
        };
        if (const auto& found = read.at("membership"); !found.is_null()) {
            take("mean log-probability", found.at("members").at("mean_log_probability"));
            take("mean perplexity", found.at("members").at("mean_perplexity"));
            take("membership AUC", found.at("attack").at("auc"));
        }
        if (const auto& found = read.at("extraction"); !found.empty()) {
            take("valid outputs", found[0].at("valid"));
            take("secrets found", found[0].at("found"));
            if (const auto& likeness = found[0].at("jaccard"); !likeness.is_null())
                for (std::size_t n = 0; n < likeness.size(); ++n)
                    take(("Jaccard " + std::to_string(n + 1)).c_str(), likeness[n].at("mean"));
        }
        take("mean exposure, bits", read.at("course").back().at("mean_exposure"));
        take("ε at least", read.at("audited_epsilon"));
    } catch (const nlohmann::json::exception&) {
        refuse(audit_json.string() + ": is no audit report of this version; remove it");
    }
    return out;
}

}  // namespace rldp::eval

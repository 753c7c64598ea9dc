#include "eval/attacks/membership_record.hpp"

#include <nlohmann/json.hpp>

#include "config/error.hpp"
#include "config/files.hpp"

namespace rldp::eval {

std::string to_json(const membership_record& record) {
    nlohmann::ordered_json out = {{"digest", record.digest}, {"canaries", nlohmann::json::array()}};
    for (const auto& [unit, secret] : record.planted) out["canaries"].push_back({{"unit", unit}, {"canary", secret}});
    out["audit_canaries_in"] = record.canary_in;
    out["audit_gradient_canaries_in"] = record.gradient_canary_in;
    return out.dump() + "\n";
}

membership_record read_membership(const std::filesystem::path& path) {
    try {
        const auto read = nlohmann::json::parse(read_file(path));
        membership_record out{.digest = read.at("digest"), .planted = {}, .canary_in = {}, .gradient_canary_in = {}};
        for (const auto& canary : read.at("canaries")) out.planted.push_back({canary.at("unit"), canary.at("canary")});
        out.canary_in = read.at("audit_canaries_in").get<std::vector<bool>>();
        out.gradient_canary_in = read.at("audit_gradient_canaries_in").get<std::vector<bool>>();
        return out;
    } catch (const nlohmann::json::exception& reason) {
        const std::string what = reason.what();
        refuse(path.string() + ": " + what.substr(what.find("] ") + 2) + "; bring back the run's own file");
    }
}

}  // namespace rldp::eval

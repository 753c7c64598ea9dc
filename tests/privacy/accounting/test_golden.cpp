// Other engines' ε for the same compositions: Google's dp_accounting, Microsoft's prv_accountant, Opacus.
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "privacy/accounting/accountant.hpp"
#include "tests/catch.hpp"

using namespace rldp::privacy;

namespace {

nlohmann::json cases() {
    std::ifstream file("../shared/golden/accounting/epsilon.json");
    if (!file) {
        WARN("skipped: no shared data");
        return nlohmann::json::array();
    }
    return nlohmann::json::parse(file);
}

std::vector<phase> read_phases(const nlohmann::json& golden) {
    std::vector<phase> phases;
    for (const auto& r : golden.at("composition"))
        phases.push_back({r.at("noise_multiplier"), r.at("sample_rate"), r.at("steps")});
    return phases;
}

}  // namespace

TEST_CASE("pld lies between prv_accountant's lower bound and dp_accounting's upper bound") {
    const auto pld = make_accountant("pld");
    for (const auto& golden : cases()) {
        CAPTURE(golden.at("composition").dump());
        const double epsilon = pld->epsilon(read_phases(golden), golden.at("delta"));
        CHECK(epsilon >= golden.at("prv_epsilon_microsoft").at(0).get<double>());
        CHECK(epsilon <= golden.at("pld_epsilon_dp_accounting").get<double>() * 1.001 + 1e-4);
        CHECK(pld->delta(read_phases(golden), epsilon) == Approx(golden.at("delta").get<double>()).epsilon(5e-3));
    }
}

TEST_CASE("rdp is what Opacus and dp_accounting find where their orders reach the optimum, and never more") {
    const auto rdp = make_accountant("rdp");
    for (const auto& golden : cases()) {
        CAPTURE(golden.at("composition").dump());
        const double epsilon = rdp->epsilon(read_phases(golden), golden.at("delta"));
        const double google = golden.at("rdp_epsilon_dp_accounting"), opacus = golden.at("rdp_epsilon_opacus").at(0);
        CHECK(epsilon >= golden.at("prv_epsilon_microsoft").at(0).get<double>());
        CHECK(epsilon <= std::min(google, opacus) * (1 + 1e-6));
        const bool interior = golden.at("rdp_epsilon_opacus").at(1).get<double>() < 60;
        CHECK(epsilon >= google * (interior ? 0.998 : 0.97));
        CHECK(rdp->delta(read_phases(golden), epsilon) == Approx(golden.at("delta").get<double>()).epsilon(1e-4));
    }
}

TEST_CASE("gdp_clt is Opacus's central limit, and under-reports where the noise is small") {
    const auto gdp = make_accountant("gdp_clt");
    CHECK_FALSE(gdp->is_upper_bound());
    for (const auto& golden : cases()) {
        if (!golden.contains("gdp_clt_epsilon_opacus")) continue;
        CAPTURE(golden.at("composition").dump());
        CHECK(gdp->epsilon(read_phases(golden), golden.at("delta")) ==
              Approx(golden.at("gdp_clt_epsilon_opacus").get<double>()).epsilon(1e-6));
    }
    const phase published{0.4098, 16.0 / 73271, 13738};
    CHECK(gdp->epsilon({&published, 1}, 1e-5) == Approx(2.00).margin(0.005));
    CHECK(make_accountant("pld")->epsilon({&published, 1}, 1e-5) == Approx(5.40).margin(0.01));
}

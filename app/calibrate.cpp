// rldp calibrate: the least noise that meets a budget.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "app/bands.hpp"
#include "app/commands.hpp"
#include "app/words.hpp"
#include "base/output.hpp"
#include "privacy/accounting/accountant.hpp"
#include "run/artifacts/json_number.hpp"

namespace rldp::app {

namespace {

struct calibrate_arguments {
    std::string epsilon, delta, rate, steps, accountant = "pld";
    bands_arguments banded;
    bool json = false;
};

int calibrate(const calibrate_arguments& given) {
    const auto by = privacy::make_accountant(given.accountant);
    if (!by->is_upper_bound())
        refuse(
            fmt::format("--accountant {}: it can under-report, so it can't choose noise for a budget; use pld or rdp",
                        given.accountant));
    const privacy::phase unit{1, parse_number("--rate", given.rate), parse_count("--steps", given.steps)};
    privacy::checked_phases({&unit, 1});
    const double epsilon = parse_number("--epsilon", given.epsilon), delta = parse_number("--delta", given.delta);
    const privacy::banded_plan plan{unit.sample_rate, unit.steps, read_population(given.banded)};
    const auto bands = read_bands(given.banded, plan, *by, epsilon, delta);
    const auto [number, found, left] = privacy::calibrate_bands(*by, bands ? bands->bands : 1, plan, epsilon, delta);
    nlohmann::ordered_json out{{"noise_multiplier", found.noise_multiplier}, {"epsilon", found.epsilon}};
    if (bands) {
        out.update(describe_bands(*bands, plan));
        out["noise_left"] = left;
    }
    if (given.json) {
        say("{}\n", out.dump());
        return 0;
    }
    if (bands) {
        print_bands(out);
        say("prefix sums have {:.3f} of the noise that independent noise has at the same budget\n", left);
    }
    say("noise multiplier z = {:.6f}, which composes to ε = {:.6f} at δ = {} under {}\n", found.noise_multiplier,
        found.epsilon, given.delta, by->name());
    return 0;
}

}  // namespace

void add_calibrate(CLI::App& program, action& chosen) {
    auto* command = program.add_subcommand("calibrate", "Find the smallest noise multiplier that meets (ε, δ)");
    auto given = std::make_shared<calibrate_arguments>();
    command->add_option("--epsilon", given->epsilon, "ε > 0 to meet")->required();
    command->add_option("--delta", given->delta, "δ in (0, 1)")->required();
    command->add_option("--rate", given->rate, "sample rate q in (0, 1]: expected batch size over population")
        ->required();
    command->add_option("--steps", given->steps, "number of steps")->required();
    command->add_option("--accountant", given->accountant, "pld or rdp")->capture_default_str();
    add_bands_options(*command, given->banded);
    command->add_flag("--json", given->json, "print as JSON");
    command->footer("Example: rldp calibrate --epsilon 2 --delta 1e-5 --rate 0.001 --steps 3000");
    command->callback([given, &chosen] { chosen = [given] { return calibrate(*given); }; });
}

}  // namespace rldp::app

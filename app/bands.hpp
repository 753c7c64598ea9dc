#pragma once
// Noise in bands, as account and calibrate take and print it.
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "privacy/accounting/bands.hpp"

namespace CLI {
class App;
}

namespace rldp::app {

/// As they were written; empty where they were not.
struct bands_arguments {
    std::string bands, population;
};

/// --bands and --population.
void add_bands_options(CLI::App& command, bands_arguments& given);

/// A plan's bands: as many as --bands says, or the chosen number, and why.
struct given_bands {
    std::int64_t bands;
    std::optional<std::string> reason;  ///< of a choice
};
/// `epsilon` and `delta`: the budget at which numbers of bands are compared where --bands is "open". Nothing where it
/// was not given. Errors: bad_input for another word, or bands that the plan does not admit.
std::optional<given_bands> read_bands(const bands_arguments& given, const privacy::banded_plan& plan,
                                      const privacy::accountant& with, double epsilon, double delta);
/// The population that was written, if any. Errors: bad_input unless it is a count.
std::optional<std::int64_t> read_population(const bands_arguments& given);

/// Bands, rounds, their sample rate, coefficients and errors of prefix sums.
nlohmann::ordered_json describe_bands(const given_bands& of, const privacy::banded_plan& plan);
/// The same as lines for people.
void print_bands(const nlohmann::ordered_json& described);

}  // namespace rldp::app

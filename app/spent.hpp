#pragma once
// What noised counts took from a budget book, for those who asked for them.
#include <string>

#include "app/words.hpp"
#include "base/output.hpp"
#include "run/discovery/counted_table.hpp"

namespace rldp::app {

/// The book's new totals; `unit`: whom the counts protect.
inline void print_spent(const actors::counted_table& counted, const actors::counting_contract& contract,
                        const std::string& unit) {
    const auto whom = unit == "record" ? std::string("each record") : "each " + unit;
    say("spent: ε {:g} at δ {:g}, for {} of the whole table\n", contract.epsilon, contract.delta, whom);
    if (counted.book.empty()) {
        say("no budget book was kept: nobody adds this up\n");
        return;
    }
    auto* const to = counted.found_by_data ? stderr : stdout;
    for (const auto& total : counted.totals) {
        say(to, "{}budget book {}, with this: ", counted.found_by_data ? "PRIVATE, not to be passed on: " : "",
            counted.book.string());
        if (!total.epsilon_guaranteed) {
            say(to, "{} entries, one of which guarantees nothing\n", total.runs);
            continue;
        }
        say(to, "ε {} at δ {:g} of {} entr{} for {}", show(*total.epsilon_guaranteed), total.delta, total.runs,
            total.runs == 1 ? "y" : "ies", whom);
        if (total.pld && *total.pld < *total.epsilon_guaranteed)
            say(to, "; {} composed, if none was set up by what an earlier one released", show(*total.pld));
        say(to, "\n");
    }
}

}  // namespace rldp::app

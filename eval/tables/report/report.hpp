#pragma once
// What a made-up table came to: trusted/synthetic.html and trusted/synthetic.json. It speaks of training records: for
// the data owner, never for the public side.
#include <cstddef>
#include <string>

#include "eval/tables/judgement.hpp"

namespace rldp::eval {

struct table_report {
    std::string run, table;                 ///< directory, and the made-up table's file
    double claimed_epsilon = 0, delta = 0;  ///< of the run; infinite where nothing is guaranteed
    std::size_t training_rows = 0, held_out_rows = 0, made_up_rows = 0;  ///< all there are
    std::size_t training_units = 0, held_out_units = 0;
    bool groups = false;  ///< a unit is all records of one person, say
    table_judgement found;
    double seconds = 0;
};

/// What the membership attack's interval says, in words: the one verdict that there is.
std::string table_verdict(const table_report& report);

std::string table_json(const table_report& report);
/// A few lines for a terminal.
std::string table_summary(const table_report& report);
std::string table_html(const table_report& report);

}  // namespace rldp::eval

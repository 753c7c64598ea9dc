// A template, then a small table through it, and rows made up of its schema.
#include "data/sources/made_up_rows.hpp"
#include "data/sources/narrative.hpp"
#include "tests/fuzz/reading.hpp"

using namespace rldp;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    static const auto rows = data::parse_csv(
        "encounter_id,patient_nbr,age,gender,number_inpatient,readmitted\n"
        "1,7,[60-70),Female,0,NO\n"
        "2,7,?,Male,1,>30\n"
        "3,8,\"[70-80)\",,12,<30\n",
        (fuzz::directory() / "table.csv").string());
    fuzz::write("template.json", fuzz::to_text(bytes, size));
    fuzz::check_reading(size, [] {
        const auto how = data::read_template((fuzz::directory() / "template.json").string());
        const data::row_renderer narrate(how, rows, nullptr);
        for (std::size_t row = 0; row < rows.rows(); ++row) narrate(row);
        if (how.schema) data::made_up_stream(how, nullptr, 2, 1).next(2);
    });
    return 0;
}

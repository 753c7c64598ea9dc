// The real UCI table, where it lies beside the project.
#include <filesystem>
#include <set>

#include "data/sources/narrative.hpp"
#include "data/sources/tables.hpp"
#include "tests/catch.hpp"
#include "tests/support/corpus.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::data;

namespace {

const std::string folder = "../shared/data/uci-diabetes/";

bool absent() {
    if (std::filesystem::exists(folder + "diabetic_data.csv")) return false;
    WARN("skipped: no shared data");
    return true;
}

}  // namespace

TEST_CASE("the real UCI table is read whole and its first narrative is as written by hand") {
    if (absent()) return;
    const auto rows = read_csv(folder + "diabetic_data.csv");
    CHECK(rows.rows() == 101'766);
    CHECK(rows.columns().size() == 50);
    CHECK(rows.line(rows.rows() - 1) == 101'767);
    const auto codes = read_code_book(folder + "IDs_mapping.csv");
    CHECK(codes.at("admission_type_id").size() == 8);
    CHECK(codes.at("discharge_disposition_id").size() == 30);
    CHECK(codes.at("admission_source_id").size() == 25);
    const auto how = read_template("config/narrative-uci.json");
    CHECK(
        row_renderer(how, rows, &codes)(0) ==
        "The patient has the following profile. race is Caucasian. gender is Female. the patient ages between 0 and 10 "
        "years old. weight is unknown. admission type id is unknown. discharge disposition id is Not Mapped. admission "
        "source id is Physician Referral. the patient stayed in the hospital for 1 day. payer code is unknown. medical "
        "specialty is Pediatrics-Endocrinology. num lab procedures is 41. num procedures is 0. num medications is 1. "
        "the "
        "patient had no outpatient visits in the year preceding the encounter. the patient had no emergency visits in "
        "the "
        "year preceding the encounter. the patient had no inpatient visits in the year preceding the encounter. the "
        "primary diagnosis code (first three digits of ICD9) is 250.83. the secondary diagnosis code (first three "
        "digits "
        "of ICD9) is unknown. the additional secondary diagnosis code (first three digits of ICD9) is unknown. number "
        "diagnoses is 1. max glu serum is unknown. A1Cresult is unknown. metformin is not prescribed. repaglinide is "
        "not "
        "prescribed. nateglinide is not prescribed. chlorpropamide is not prescribed. glimepiride is not prescribed. "
        "acetohexamide is not prescribed. glipizide is not prescribed. glyburide is not prescribed. tolbutamide is not "
        "prescribed. pioglitazone is not prescribed. rosiglitazone is not prescribed. acarbose is not prescribed. "
        "miglitol is not prescribed. troglitazone is not prescribed. tolazamide is not prescribed. examide is not "
        "prescribed. citoglipton is not prescribed. insulin is not prescribed. glyburide-metformin is not prescribed. "
        "glipizide-metformin is not prescribed. glimepiride-pioglitazone is not prescribed. metformin-rosiglitazone is "
        "not prescribed. metformin-pioglitazone is not prescribed. the patient's diabetic medications were not "
        "changed. "
        "the patient was not prescribed diabetic medication. the patient was not readmitted.");
}

TEST_CASE("the real UCI table's units are encounters or patients") {
    if (absent()) return;
    source from{folder + "diabetic_data.csv", {}, "config/narrative-uci.json", {}};
    split_rule exact;
    exact.how = rldp::split_kind::exact;
    exact.canaries = 10;
    const auto encounters = load_corpus(from, exact);
    CHECK(encounters.train.size() == 73'271);  // as published
    CHECK(encounters.warnings.size() == 1);
    from.group = "patient_nbr";
    split_rule all_records;
    all_records.max_records = 40;  // the most that a patient has
    const auto patients = load_corpus(from, all_records);
    CHECK(patients.train.size() + patients.eval.size() + patients.attack.size() == 71'518);
    CHECK(patients.warnings.empty());
    std::size_t records = 0;
    for (const auto* units : {&patients.train, &patients.eval, &patients.attack})
        for (const auto& u : *units) records += u.records.size();
    CHECK(records == 101'766);
    std::size_t kept = 0, most = 0;
    const auto bounded = load_corpus(from, split_rule{});
    for (const auto* units : {&bounded.train, &bounded.eval, &bounded.attack})
        for (const auto& u : *units) kept += u.records.size(), most = std::max(most, u.records.size());
    CHECK(most == 16);
    CHECK(kept > 101'000);
}

#include "data/sources/narrative.hpp"

#include "data/sources/tables.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::data;

namespace {

std::string first_narrative(const std::string& json, const std::string& csv, const code_book* codes = nullptr) {
    const auto how = parse_template(json, "n.json");
    const auto rows = parse_csv(csv, "t.csv");
    return row_renderer(how, rows, codes)(0);
}

const std::string uci_header =
    "encounter_id,patient_nbr,race,gender,age,weight,admission_type_id,discharge_disposition_id,admission_source_id,"
    "time_in_hospital,payer_code,medical_specialty,num_lab_procedures,num_procedures,num_medications,number_outpatient,"
    "number_emergency,number_inpatient,diag_1,diag_2,diag_3,number_diagnoses,max_glu_serum,A1Cresult,metformin,"
    "repaglinide,nateglinide,chlorpropamide,glimepiride,acetohexamide,glipizide,glyburide,tolbutamide,pioglitazone,"
    "rosiglitazone,acarbose,miglitol,troglitazone,tolazamide,examide,citoglipton,insulin,glyburide-metformin,"
    "glipizide-metformin,glimepiride-pioglitazone,metformin-rosiglitazone,metformin-pioglitazone,change,diabetesMed,"
    "readmitted\n";

const code_book uci_codes{{"admission_type_id", {{"1", "Emergency"}, {"6", "NULL"}, {"5", "Not Available"}}},
                          {"discharge_disposition_id", {{"3", "Discharged/transferred to SNF"}}},
                          {"admission_source_id", {{"5", "Transfer from a Skilled Nursing Facility (SNF)"}}}};

std::string uci_narrative(const std::string& row) {
    const auto how = read_template("config/narrative-uci.json");
    const auto rows = parse_csv(uci_header + row, "t.csv");
    return row_renderer(how, rows, &uci_codes)(0);
}

}  // namespace

TEST_CASE("the UCI template writes the published example") {
    const auto text = uci_narrative(
        "1,2,AfricanAmerican,Male,[60-70),[50-75),1,3,5,14,?,?,41,3,22,0,1,3,250.8,785,707,9,None,None,Steady,No,Down,"
        "No,"
        "No,No,No,No,No,No,No,No,No,No,No,No,No,Up,No,No,No,No,No,Ch,Yes,<30\n");
    CHECK(
        text ==
        "The patient has the following profile. race is AfricanAmerican. gender is Male. the patient ages between 60 "
        "and 70 years old. weight is [50-75). admission type id is Emergency. discharge disposition id is "
        "Discharged/transferred to SNF. admission source id is Transfer from a Skilled Nursing Facility (SNF). the "
        "patient stayed in the hospital for 14 days. payer code is unknown. medical specialty is unknown. num lab "
        "procedures is 41. num procedures is 3. num medications is 22. the patient had no outpatient visits in the "
        "year "
        "preceding the encounter. the patient had 1 emergency visit in the year preceding the encounter. the patient "
        "had "
        "3 inpatient visits in the year preceding the encounter. the primary diagnosis code (first three digits of "
        "ICD9) "
        "is 250.8. the secondary diagnosis code (first three digits of ICD9) is 785. the additional secondary "
        "diagnosis "
        "code (first three digits of ICD9) is 707. number diagnoses is 9. max glu serum is unknown. A1Cresult is "
        "unknown. "
        "metformin is unchanged. repaglinide is not prescribed. nateglinide is decreased. chlorpropamide is not "
        "prescribed. glimepiride is not prescribed. acetohexamide is not prescribed. glipizide is not prescribed. "
        "glyburide is not prescribed. tolbutamide is not prescribed. pioglitazone is not prescribed. rosiglitazone is "
        "not "
        "prescribed. acarbose is not prescribed. miglitol is not prescribed. troglitazone is not prescribed. "
        "tolazamide "
        "is not prescribed. examide is not prescribed. citoglipton is not prescribed. insulin is increased. "
        "glyburide-metformin is not prescribed. glipizide-metformin is not prescribed. glimepiride-pioglitazone is not "
        "prescribed. metformin-rosiglitazone is not prescribed. metformin-pioglitazone is not prescribed. the "
        "patient's "
        "diabetic medications were changed. the patient was prescribed diabetic medication. the patient was readmitted "
        "in "
        "less than 30 days.");
}

TEST_CASE("the UCI template's other forms") {
    const auto text = uci_narrative(
        "1,2,?,Female,?,,6,3,5,1,MC,?,41,3,22,2,0,1,1,2,?,9,Norm,>8,No,No,No,No,No,No,No,No,No,No,No,No,No,No,No,No,No,"
        "No,No,No,No,No,No,No,No,>30\n");
    for (const std::string clause :
         {"race is unknown.", "the patient's age is unknown.", "weight is unknown.", "admission type id is unknown.",
          "the patient stayed in the hospital for 1 day.", "payer code is MC.", "A1Cresult is >8.",
          "max glu serum is Norm.", "the patient had 2 outpatient visits in the year preceding the encounter.",
          "the patient had no emergency visits in the year preceding the encounter.",
          "the patient had 1 inpatient visit in the year preceding the encounter.",
          "the additional secondary diagnosis code (first three digits of ICD9) is unknown.",
          "the patient's diabetic medications were not changed. the patient was not prescribed diabetic medication. "
          "the "
          "patient was readmitted after more than 30 days."})
        CHECK(has(text, " " + clause));
}

TEST_CASE("a bare template serves any table, fields in table order") {
    CHECK(first_narrative("{}", "first_name,b\nAda,?\n") == "first name is Ada. b is unknown.");
    CHECK(first_narrative("{\"opening\":\"Hello.\",\"leave_out\":[\"a\"],\"record\":\"id\",\"person\":\"who\","
                          "\"clause\":\"{label}: {value};\"}",
                          "b,a,id,who,c\n1,2,3,4,5\n") == "Hello. b: 1; c: 5;");
}

TEST_CASE("rules of a column") {
    const auto with = [](const std::string& rule, const std::string& value) {
        return first_narrative("{\"values\":{\"yn\":{\"y\":\"yes\"}},\"columns\":{\"a\":" + rule + "}}",
                               "a\n" + value + "\n");
    };
    CHECK(with("{\"values\":\"yn\"}", "y") == "a is yes.");
    CHECK(with("{\"values\":\"yn\"}", "z") == "a is z.");
    CHECK(with("{\"values\":{\"None\":\"nothing\"}}", "None") == "a is nothing.");  // its own words go first
    CHECK(with("{\"label\":\"A\",\"clause\":\"{value} it is\"}", "5") == "5 it is");
    CHECK(with("{\"sentences\":{\"?\":\"nobody knows.\"}}", "?") == "nobody knows.");
    CHECK(with("{\"count\":{\"many\":\"{value} times\"}}", "0") == "0 times");
    CHECK(with("{\"count\":{\"many\":\"{value} times\",\"one\":\"once\"}}", "01") == "once");
    CHECK(with("{\"range\":\"{low} to {high} ({value})\"}", "(0-10]") == "0 to 10 ((0-10])");
    CHECK(with("{\"codes\":\"a\"}", "6") == "a is 6.");  // no code book
}

TEST_CASE("values that do not fit their rule are refused with their line") {
    const auto refused = [](const std::string& rule, const std::string& value, const code_book* codes = nullptr) {
        return refusal([&] { first_narrative("{\"columns\":{\"a\":" + rule + "}}", "a\n" + value + "\n", codes); });
    };
    for (const std::string value : {"-1", "1.5", "many", " 1"})
        CHECK(has(refused("{\"count\":{\"many\":\"x\"}}", value), "t.csv:2: column \"a\" is not a count"));
    for (const std::string value : {"60-70", "[60]", "[a-b)", "[-)", ">60"})
        CHECK(has(refused("{\"range\":\"x\"}", value), "t.csv:2: column \"a\" is not a range"));
    const code_book codes{{"a", {{"1", "one"}}}};
    CHECK(has(refused("{\"codes\":\"a\"}", "2", &codes), "t.csv:2: column \"a\" is not a code of \"a\""));
    CHECK(has(refused("{\"codes\":\"b\"}", "1", &codes), "n.json: columns.a.codes: the code book has no table \"b\""));
    CHECK(refused("{\"codes\":\"a\"}", "?", &codes).empty());
    CHECK(has(refusal([] { first_narrative("{\"columns\":{\"b\":{}}}", "a\n1\n"); }),
              "t.csv:1: column \"b\" is missing"));
    CHECK(has(refusal([] { first_narrative("{\"record\":\"b\"}", "a\n1\n"); }), "t.csv:1: column \"b\" is missing"));
}

TEST_CASE("a broken template is refused with file and key") {
    const auto refused = [](const std::string& json) { return refusal([&] { parse_template(json, "n.json"); }); };
    CHECK(has(refused(std::string("{}\0", 3)), "n.json:1: a zero byte"));
    CHECK(has(refused("{\"opening\": "), "n.json: line 1, column 13: not JSON: "));
    CHECK(has(refused(""), "n.json: the file is empty"));
    CHECK(has(refused("[]"), "n.json: must be an object"));
    CHECK(has(refused("{\"opening\": 1e999}"), "n.json: opening: "));
    CHECK(has(refused("{\"titel\": \"x\"}"), "n.json: titel: unknown key; known here are record, person"));
    CHECK(has(refused("{\"opening\": 1}"), "n.json: opening: must be a string"));
    CHECK(has(refused("{\"leave_out\": \"a\"}"), "n.json: leave_out: must be a list of strings"));
    CHECK(has(refused("{\"clause\": \"{name} is\"}"), "n.json: clause: braces must enclose one of: label value"));
    CHECK(has(refused("{\"clause\": \"{label\"}"), "n.json: clause: braces"));
    CHECK(has(refused("{\"clause\": \"label}\"}"), "n.json: clause: braces"));
    const auto column = [&](const std::string& rule) { return refused("{\"columns\":{\"a\":" + rule + "}}"); };
    CHECK(has(column("5"), "n.json: columns.a: must be an object"));
    CHECK(has(column("{\"valeus\":{}}"), "n.json: columns.a.valeus: unknown key"));
    CHECK(has(column("{\"values\":\"yn\"}"), "n.json: columns.a.values: no word list \"yn\""));
    CHECK(has(column("{\"values\":{\"x\":1}}"), "n.json: columns.a.values.x: must be a string"));
    CHECK(has(column("{\"count\":{\"one\":\"x\"}}"), "n.json: columns.a.count: \"many\" is missing"));
    CHECK(has(column("{\"count\":{\"many\":\"{low}\"}}"), "n.json: columns.a.count.many: braces"));
    CHECK(has(column("{\"count\":{\"many\":\"x\"},\"range\":\"x\"}"), "n.json: columns.a: \"count\" and \"range\""));
    CHECK(has(column("{\"count\":{\"many\":\"x\"},\"codes\":\"x\"}"), "n.json: columns.a.codes: has no effect"));
    CHECK(has(refused("{\"record\":\"a\",\"columns\":{\"a\":{}}}"), "n.json: columns.a: the column is an identifier"));
}

TEST_CASE("a narrative says where its columns and their values stand") {
    const auto how =
        parse_template(R"({"opening": "Profile.", "only_named": true, "clause": "{label} is {value}.", "columns": {
        "age": {"range": "between {low} and {high}."}, "days": {"count": {"one": "one day.", "many": "{value} days."}},
        "sex": {}, "back": {"sentences": {"NO": "not back."}}}})",
                       "n.json");
    const auto rows = parse_csv("other,age,days,sex,back\n9,[60-70),1,?,NO\n9,[0-10),12,F,YES\n", "t.csv");
    const row_renderer tell(how, rows, nullptr);
    const auto told = [&](std::size_t row) {
        std::vector<clause> clauses;
        const auto text = tell(row, &clauses);
        std::vector<std::string> out{text};
        for (const auto& one : clauses) {
            auto line =
                rows.columns()[one.column] + ": " + text.substr(one.whole.begin, one.whole.end - one.whole.begin);
            for (const auto& [begin, end] : one.values) line += " | " + text.substr(begin, end - begin);
            out.push_back(line);
        }
        return out;
    };
    CHECK(told(0) == std::vector<std::string>{"Profile. between 60 and 70. one day. sex is unknown. not back.",
                                              "age: between 60 and 70. | 60 | 70", "days: one day. | one day.",
                                              "sex: sex is unknown. | unknown", "back: not back. | not back."});
    CHECK(told(1) == std::vector<std::string>{"Profile. between 0 and 10. 12 days. sex is F. back is YES.",
                                              "age: between 0 and 10. | 0 | 10", "days: 12 days. | 12",
                                              "sex: sex is F. | F", "back: back is YES. | YES"});
    CHECK(has(refusal([] { parse_template(R"({"only_named": 1})", "n.json"); }), "only_named"));
}

TEST_CASE("numbers with a decimal comma are told with a point, and nothing else is") {
    for (const auto& [written, told] : std::vector<std::pair<std::string, std::string>>{{"11,4", "11.4"},
                                                                                        {"-0,5", "-0.5"},
                                                                                        {"1.234,50", "1234.50"},
                                                                                        {"1.234.567", "1234567"},
                                                                                        {"+1.000", "+1000"}})
        CHECK(with_decimal_point(written) == told);
    for (const auto* other : {"", ",", "5", "1.5", "1,", ",5", "1,2,3", "1.23,4", "12.3456,7", "a,b", "1,4 mg",
                              "2026.11.28", "1234.567,8", ".123", "-"})
        CHECK_FALSE(with_decimal_point(other));
    const auto how = R"({"columns": {"crp": {"decimal": ","}}})";
    CHECK(first_narrative(how, "crp,other\n\"11,4\",\"2,5\"\n") == "crp is 11.4. other is 2,5.");
    CHECK(first_narrative(how, "crp\nhigh\n") == "crp is high.");
    CHECK(has(refusal([] { parse_template(R"({"columns": {"crp": {"decimal": "comma"}}})", "n.json"); }),
              "n.json: columns.crp.decimal: must be"));
}

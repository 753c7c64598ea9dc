#include "data/survey/survey.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/sources/column_names.hpp"
#include "data/sources/narrative.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::data;

namespace {

bool says_nothing(const std::vector<std::string>& values) {
    column_watch seen;
    for (const auto& value : values) seen.see(value);
    return seen.says_nothing();
}

/// 200 encounters of 50 customers.
std::string encounters(char comma) {
    std::string out = "encounter_id,customerNbr,e-mail,age,seen,country,note,spare,readmitted\n";
    for (int i = 0; i < 200; ++i)
        out += fmt::format(
            "{},C{},a{}@b.c,{},2026-01-{:02},{},\"Came on day {} and was told to rest, and to come again.\",,{}\n", i,
            i % 50, i, 20 + i % 60, 1 + i % 28, "FR", i, i % 3 == 0 ? "yes" : "no");
    for (auto& c : out)
        if (c == ',') c = comma;
    return out;
}

column_role find_role(const survey& in, const std::string& name) {
    for (const auto& column : in.columns)
        if (column.name == name) return column.role;
    FAIL(name + " is no column");
    return {};
}

}  // namespace

TEST_CASE("a column that is empty or always the same says nothing, and one that is missing at times does") {
    CHECK(says_nothing({"", "?", "NA"}));
    CHECK(says_nothing({"x", "x", "x"}));
    CHECK_FALSE(says_nothing({"x", "x", ""}));
    CHECK_FALSE(says_nothing({"x", "y"}));
    CHECK_FALSE(says_nothing({"x"}));
}

TEST_CASE("names of columns come apart into words") {
    CHECK(words_of_name("patient_nbr") == std::vector<std::string>{"patient", "nbr"});
    CHECK(words_of_name("PatientNbr") == std::vector<std::string>{"patient", "nbr"});
    CHECK(words_of_name("A1Cresult") == std::vector<std::string>{"a1cresult"});
    CHECK(words_of_name("customer-ID (old)") == std::vector<std::string>{"customer", "id", "old"});
    CHECK(words_of_name("").empty());
}

TEST_CASE("identifiers are known by name in several languages, codes, counts and values are not taken for them") {
    const auto all_are = [](naming what, std::initializer_list<const char*> names) {
        for (const char* name : names) {
            INFO(name);
            CHECK(classify_name(name) == what);
        }
    };
    all_are(naming::person, {"MRN",
                             "nhs_number",
                             "pid",
                             "PatientenID",
                             "Patienten-Nr.",
                             "Versichertennummer",
                             "Numero patient",
                             "case_owner",
                             "patient_id",
                             "patient_nbr",
                             "customerNbr",
                             "account",
                             "member_no",
                             "userid",
                             "Kundennummer",
                             "numéro de patient",
                             "Número de paciente",
                             "subject",
                             "codice_paziente_id",
                             "Mitgliedsnummer",
                             "klient_id"});
    all_are(naming::identity, {"Name", "first_name", "dob", "Geburtsdatum", "e-mail", "patient name", "nom",
                               "date_of_birth", "Vorname", "Telefon", "street"});
    all_are(naming::thing, {"encounter_id", "id", "Unnamed: 0", "", "order_id", "device_uuid", "Rechnungsnummer"});
    // Of the UCI diabetes table and of diamonds all that is a code, a count or a value, and what sounds like more.
    all_are(naming::nothing, {"admission_type_id",
                              "discharge_disposition_id",
                              "admission_source_id",
                              "payer_code",
                              "medical_specialty",
                              "num_lab_procedures",
                              "number_diagnoses",
                              "number_outpatient",
                              "time_in_hospital",
                              "diag_1",
                              "A1Cresult",
                              "readmitted",
                              "age",
                              "gender",
                              "race",
                              "change",
                              "product_name",
                              "drug_name",
                              "patient_age",
                              "account_balance",
                              "no_shows",
                              "paid",
                              "valid",
                              "covid",
                              "carat",
                              "cut",
                              "color",
                              "x",
                              "table",
                              "country",
                              "mailing",
                              "customary",
                              "user_rating",
                              "account type",
                              "state",
                              "note"});
}

TEST_CASE("what becomes of a column follows from its name and the owner's word, whatever ends its fields") {
    const scratch_directory at;
    for (const char comma : {',', ';', '\t'}) {
        const auto path = at.write(comma == '\t' ? "t.tsv" : "t.csv", encounters(comma));
        const auto found = profile_data(path, {.person = "customerNbr", .target = "readmitted"});
        CHECK(found.kind == data_kind::table);
        CHECK(found.delimiter == comma);
        CHECK(found.records == 200);
        CHECK(find_role(found, "encounter_id") == column_role::left_out);
        CHECK(find_role(found, "customerNbr") == column_role::person);
        CHECK(found.find(column_role::person)->distinct == 50);
        CHECK(find_role(found, "e-mail") == column_role::left_out);
        CHECK(find_role(found, "country") == column_role::rendered);  // always the same, but that is a value's word
        CHECK(find_role(found, "spare") == column_role::rendered);
        CHECK(find_role(found, "age") == column_role::rendered);
        CHECK(find_role(found, "note") == column_role::free_text);
        CHECK(found.target == "readmitted");
        CHECK(found.identifiers().size() == 3);
        const auto how = parse_template(template_for(found, path), "made");
        CHECK_FALSE(how.record);
        CHECK(how.person == "customerNbr");
        CHECK(how.leave_out == std::set<std::string, std::less<>>{"e-mail", "encounter_id"});
        CHECK(how.opening == "A record of t.");
        // Words end a text that nothing else does.
        const auto endings = [&](const std::vector<std::string>& types) {
            const auto columns = nlohmann::json::parse(template_for(found, path, types))["columns"];
            return columns["note"]["clause"] == "{label}: {value} (end)" &&
                   columns.value("readmitted", nlohmann::json::object()).value("clause", "") ==
                       "{label}: {value} (end)";
        };
        CHECK(endings({}));
        CHECK_FALSE(endings({"readmitted=category:yes,no"}));
    }
}

TEST_CASE("values only advise") {
    const scratch_directory at;
    const auto path = at.write("t.csv", encounters(','));
    const auto found = profile_data(path, {});
    CHECK_FALSE(found.find(column_role::person));
    CHECK(find_role(found, "customerNbr") == column_role::left_out);
    CHECK_FALSE(found.target);
    const auto advice = advise_columns(found);
    CHECK(advice.person == "customerNbr");
    CHECK(advice.target == "readmitted");
    CHECK(advice.say_nothing == std::vector<std::string>{"country", "spare"});
    // One record of another kind moves no word of what would be published.
    const auto before = template_for(found, path);
    at.write("t.csv", encounters(',') + "9,C9,x@y.z,7,2026-01-01,DE,short,spare,maybe\n");
    CHECK(template_for(profile_data(path, {}), path) == before);
}

TEST_CASE("what can be read in two ways is counted: words for none, decimal commas, a word among numbers") {
    const scratch_directory at;
    std::string rows = "country;crp;pulse;note;grade\n";
    for (int i = 0; i < 60; ++i)
        rows +=
            fmt::format("{};{};{};w{};{}\n", i % 20 == 0 ? "NA" : "DE", i % 10 == 0 ? "k.A." : fmt::format("{},4", i),
                        i % 6 == 0 ? "refused" : std::to_string(60 + i), i,
                        i % 10 == 0   ? "low"
                        : i % 10 == 1 ? "high"
                                      : std::to_string(i));
    const auto found = profile_data(at.write("t.csv", rows), {});
    using counts = std::vector<std::pair<std::string, std::size_t>>;
    CHECK(found.columns[0].taken_for_none == counts{{"NA", 3}});
    CHECK(found.columns[0].words_among_numbers == 0);
    CHECK(found.columns[1].taken_for_none == counts{{"k.A.", 6}});
    CHECK(found.columns[1].decimal_commas == 54);
    CHECK(found.columns[2].words_among_numbers == 10);
    CHECK(found.columns[2].decimal_commas == 0);
    CHECK(found.columns[3].words_among_numbers == 0);  // hardly a number
    CHECK(found.columns[4].words_among_numbers == 0);  // two words mean two things
}

TEST_CASE("values beyond a declared type are counted, and what is missing is none") {
    const scratch_directory at;
    const auto path = at.write("t.csv",
                               "sex,age,day,code,land,note\nF,18,2026-01-01,A1,NA,long\nM,70,01.02.2026,NA,DE,\n"
                               "?,19.5,2027-01-01,AB,FR,short\n");
    const auto found = profile_data(
        path, {.person = {},
               .types = {"sex=category:f,m", "age=integer:18:20", "code=code:[A-Z][A-Z0-9]",
                         "day=date:2026-01-01:2026-12-31", "land=category:NA,DE", "note=text:4", "gone=text:4"}});
    const auto counts = [&](std::size_t column) {
        return std::pair(found.columns[column].beyond_type, found.columns[column].values);
    };
    CHECK(counts(0) == std::pair<std::size_t, std::size_t>{2, 2});
    CHECK(counts(1) == std::pair<std::size_t, std::size_t>{2, 3});
    CHECK(counts(2) == std::pair<std::size_t, std::size_t>{2, 3});
    CHECK(counts(3) == std::pair<std::size_t, std::size_t>{0, 2});
    CHECK(counts(4) == std::pair<std::size_t, std::size_t>{1, 3});  // in a list, a word for none is a value
    CHECK(counts(5) == std::pair<std::size_t, std::size_t>{1, 2});
    CHECK(found.columns[1].declared == "integer from 18 to 20");
    CHECK(profile_data(path, {}).columns[0].values == 0);
}

TEST_CASE("types that are suggested have room for the values, and tell no end to the digit") {
    const auto suggested = [](const std::vector<std::string>& values) {
        column_watch seen;
        for (const auto& value : values) seen.see(value);
        return seen.suggest_type();
    };
    CHECK(suggested({"18", "70", ""}) == "integer:10:70");
    CHECK(suggested({"0", "1"}) == "integer:0:1");
    CHECK(suggested({"1984", "1988"}) == "integer:1984:1988");
    CHECK(suggested({"-1.8", "2.05"}) == "number:-2:3:0.01");
    CHECK(suggested({"0.29", "0.89"}) == "number:0.2:0.9:0.01");
    CHECK(suggested({"-5", "-0.5"}) == "number:-5:0:0.1");
    CHECK(suggested({"7", "7"}) == "integer:7:7");
    CHECK(suggested({"0.125", "0.5"}) == "number:0.1:0.5:0.001");
    CHECK(suggested({"1.234,5", "7"}) == "number:0:2000:0.1");
    CHECK(suggested({"2026-03-04", "2024-11-30"}) == "date:2024-01-01:2026-12-31");
    CHECK(suggested({"F", "M"}) == "category:…");
    std::vector<std::string> notes;
    for (int i = 0; i < 30; ++i) notes.push_back(fmt::format("{:\u00b7>130}", i));
    CHECK(suggested(notes) == "text:300");
}

TEST_CASE("a category with a comma stands in quotes, and a type of no told column is refused with the reason") {
    const scratch_directory at;
    const auto path = at.write("t.csv", encounters(','));
    const auto found = profile_data(path, {.person = "customerNbr", .left_out = {"spare"}});
    const auto list = [&](const std::string& said) {
        const auto made = nlohmann::json::parse(template_for(found, path, {"country=category:" + said}));
        for (const auto& one : made["schema"])
            if (one["column"] == "country") return one["category"];
        return nlohmann::json();
    };
    CHECK(list(R"("F,x",M)") == nlohmann::json{"F,x", "M"});
    CHECK(list(R"(a,"x ""b"" y",5" pipe)") == nlohmann::json{"a", "x \"b\" y", "5\" pipe"});
    CHECK(has(refusal([&] { list(R"("F,x)"); }), R"(--type country=category:"F,x: a quote is not closed)"));
    CHECK(has(refusal([&] { list(R"("F"x,M)"); }), "a comma belongs behind the quote"));
    const auto refused = [&](const std::string& said) { return refusal([&] { template_for(found, path, {said}); }); };
    CHECK(has(refused("who=text:5"), "no column has that name"));
    CHECK(has(refused("encounter_id=text:5"),
              "left out, for its name looks like an identifier's; --keep-identifier "
              "encounter_id tells it all the same"));
    CHECK(has(refused("spare=text:5"), "left out by --leave-out"));
    CHECK(has(refused("customerNbr=text:5"), "says whose the record is"));
    CHECK(has(refusal([&] { profile_data(path, {.person = {}, .types = {"age=integer:5:1"}}); }),
              "--type age=integer:5:1: schema[0].integer: ends below where it begins"));
}

TEST_CASE("the owner's word goes before a name's") {
    const scratch_directory at;
    const auto path = at.write("t.csv", encounters(','));
    const auto none = profile_data(path, {.person = "none", .target = "none"});
    CHECK(none.find(column_role::person) == nullptr);
    CHECK_FALSE(none.target);
    CHECK(profile_data(path, {.person = "age"}).find(column_role::person)->name == "age");
    CHECK(profile_data(path, {.person = {}, .target = "age"}).target == "age");
    CHECK(has(refusal([&] { profile_data(path, {.person = "who"}); }),
              "--person who: no such column; there are encounter_id, customerNbr"));
    CHECK(has(refusal([&] { profile_data(path, {.person = {}, .target = "encounter_id"}); }), "is not told"));
    const auto chosen =
        profile_data(path, {.person = "none", .left_out = {"age", "country"}, .kept = {"encounter_id"}});
    CHECK(find_role(chosen, "age") == column_role::left_out);
    CHECK(find_role(chosen, "encounter_id") == column_role::rendered);
    CHECK(find_role(chosen, "customerNbr") == column_role::left_out);
    CHECK(has(refusal([&] { profile_data(path, {.person = {}, .kept = {"age"}}); }), "is told anyway"));
    CHECK(has(refusal([&] { profile_data(path, {.person = "age", .left_out = {"age"}}); }), "is --person"));
    at.write("IDs_mapping.csv", "encounter_id,description\n1,first\n");
    CHECK(find_role(profile_data(path, {}), "encounter_id") ==
          column_role::rendered);  // a code book says what it means
}

TEST_CASE("texts need no template, and may have a person beside them") {
    const scratch_directory at;
    std::string lines;
    for (int i = 0; i < 120; ++i)
        lines += fmt::format("{{\"patient\": {}, \"text\": \"note {}\", \"ward\": 3}}\n", i % 40, i);
    const auto found = profile_data(at.write("t.jsonl", lines), {.person = "patient"});
    CHECK(found.has_text);
    CHECK(find_role(found, "patient") == column_role::person);
    CHECK(find_role(found, "ward") == column_role::left_out);
    const std::string chat = R"(, "tools": {}, "messages": [{"role": "user", "content": "a"}]})";
    std::string chats;
    for (int i = 0; i < 120; ++i) chats += fmt::format("{{\"patient\": {}{}\n", i % 40, chat);
    const auto talks = profile_data(at.write("c.jsonl", chats + "{\"late\": [1]" + chat + "\n"), {.person = "patient"});
    CHECK((talks.has_chats && !talks.has_text));
    CHECK(talks.records == 121);
    CHECK(talks.columns.size() == 1);
    CHECK(find_role(talks, "patient") == column_role::person);
    const auto bare = profile_data(at.write("b.jsonl", "\"one\"\n{\"text\": \"two\", \"ward\": 3}\n\"three\"\n"), {});
    CHECK(bare.has_text);
    CHECK(bare.records == 3);
    CHECK(find_role(bare, "text") == column_role::free_text);
    CHECK(profile_data(at.write("s.jsonl", "\"one\"\n\"two\"\n"), {}).columns.empty());
    const auto text = profile_data(at.write("t.txt", "one\n\ntwo\n"), {});
    CHECK(text.kind == data_kind::text);
    CHECK(text.records == 2);
    CHECK(text.columns.empty());
    CHECK(has(refusal([&] { profile_data(at.write("e.csv", "a,b\n"), {}); }), "no records"));
}

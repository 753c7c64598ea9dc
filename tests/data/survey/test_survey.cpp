#include "data/survey/survey.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "data/sources/narrative.hpp"
#include "data/survey/column_names.hpp"
#include "data/survey/column_watch.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::data;

namespace {

column_type type_of(const std::vector<std::string>& values) {
    column_watch seen;
    for (const auto& value : values) seen.see(value);
    return seen.type();
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

column_role role_of(const survey& in, const std::string& name) {
    for (const auto& column : in.columns)
        if (column.name == name) return column.role;
    FAIL(name + " is no column");
    return {};
}

}  // namespace

TEST_CASE("a column's type follows from its values, whatever is missing") {
    CHECK(type_of({"", "?", "NA"}) == column_type::empty);
    CHECK(type_of({"x", "x", "x"}) == column_type::constant);
    CHECK(type_of({"x", "x", ""}) != column_type::constant);
    CHECK(type_of({"1", "-2.5", "+3e4", "NaN"}) == column_type::number);
    CHECK(type_of({"2026-01-31", "2026-02-01 12:00"}) == column_type::date);
    CHECK(type_of({"31.1.2026", "1/2/2026"}) == column_type::date);
    CHECK(type_of({"1-2-x", "a"}) == column_type::other);
    CHECK(type_of(std::vector<std::string>(100, "a")) == column_type::constant);
    std::vector<std::string> kinds(100, "red");
    kinds[7] = "blue";
    CHECK(type_of(kinds) == column_type::category);
    std::vector<std::string> notes;
    for (int i = 0; i < 20; ++i) notes.push_back(fmt::format("the patient of day {} came in alone", i));
    CHECK(type_of(notes) == column_type::prose);
}

TEST_CASE("names of columns come apart into words") {
    CHECK(words_of_name("patient_nbr") == std::vector<std::string>{"patient", "nbr"});
    CHECK(words_of_name("PatientNbr") == std::vector<std::string>{"patient", "nbr"});
    CHECK(words_of_name("A1Cresult") == std::vector<std::string>{"a1cresult"});
    CHECK(words_of_name("customer-ID (old)") == std::vector<std::string>{"customer", "id", "old"});
    CHECK(words_of_name("").empty());
    CHECK(names_a_person("customerNbr"));
    CHECK_FALSE(names_a_person("customary"));
    CHECK(names_identity("e-mail"));
    CHECK_FALSE(names_identity("mailing"));
}

TEST_CASE("a table's columns get their roles, whatever ends its fields") {
    const scratch_directory at;
    for (const char comma : {',', ';', '\t'}) {
        const auto path = at.write(comma == '\t' ? "t.tsv" : "t.csv", encounters(comma));
        const auto found = survey_of(path, {});
        CHECK(found.kind == data_kind::table);
        CHECK(found.delimiter == comma);
        CHECK(found.records == 200);
        CHECK(role_of(found, "encounter_id") == column_role::record);
        CHECK(role_of(found, "customerNbr") == column_role::person);
        CHECK(found.find(column_role::person)->distinct == 50);
        CHECK(role_of(found, "e-mail") == column_role::left_out);
        CHECK(role_of(found, "country") == column_role::left_out);  // always the same
        CHECK(role_of(found, "spare") == column_role::left_out);
        CHECK(role_of(found, "age") == column_role::told);
        CHECK(role_of(found, "note") == column_role::prose);
        CHECK(found.target == "readmitted");
        const auto how = parse_template(template_for(found, path), "made");
        CHECK(how.record == "encounter_id");
        CHECK(how.person == "customerNbr");
        CHECK(how.leave_out.contains("e-mail"));
        CHECK(how.opening == "A record of t.");
    }
}

TEST_CASE("the owner's word goes before a guess") {
    const scratch_directory at;
    const auto path = at.write("t.csv", encounters(','));
    const auto none = survey_of(path, {.person = "none", .target = "none"});
    CHECK(none.find(column_role::person) == nullptr);
    CHECK_FALSE(none.target);
    CHECK(survey_of(path, {.person = "age", .target = {}}).find(column_role::person)->name == "age");
    CHECK(survey_of(path, {.person = {}, .target = "age"}).target == "age");
    CHECK(has(refusal([&] { survey_of(path, {.person = "who", .target = {}}); }),
              "--person who: no such column; there are encounter_id, customerNbr"));
    CHECK(has(refusal([&] { survey_of(path, {.person = {}, .target = "encounter_id"}); }), "is not told"));
}

TEST_CASE("texts need no template, and may have a person beside them") {
    const scratch_directory at;
    std::string lines;
    for (int i = 0; i < 120; ++i)
        lines += fmt::format("{{\"patient\": {}, \"text\": \"note {}\", \"ward\": 3}}\n", i % 40, i);
    const auto found = survey_of(at.write("t.jsonl", lines), {});
    CHECK(found.has_text);
    CHECK(role_of(found, "patient") == column_role::person);
    CHECK(role_of(found, "ward") == column_role::left_out);
    const std::string chat = R"(, "tools": {}, "messages": [{"role": "user", "content": "a"}]})";
    std::string chats;
    for (int i = 0; i < 120; ++i) chats += fmt::format("{{\"patient\": {}{}\n", i % 40, chat);
    const auto talks = survey_of(at.write("c.jsonl", chats + "{\"late\": [1]" + chat + "\n"), {});
    CHECK((talks.has_chats && !talks.has_text));
    CHECK(talks.records == 121);
    CHECK(talks.columns.size() == 1);
    CHECK(role_of(talks, "patient") == column_role::person);
    const auto text = survey_of(at.write("t.txt", "one\n\ntwo\n"), {});
    CHECK(text.kind == data_kind::text);
    CHECK(text.records == 2);
    CHECK(text.columns.empty());
    CHECK(has(refusal([&] { survey_of(at.write("e.csv", "a,b\n"), {}); }), "no records"));
}

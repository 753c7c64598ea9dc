// Schemas: read strictly, told in their order, published without a code book, drawn from, and written as tables.
#include "data/sources/schema.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <set>

#include "base/files.hpp"
#include "data/sources/json_lines.hpp"
#include "data/sources/made_up_rows.hpp"
#include "data/sources/narrative.hpp"
#include "data/sources/records.hpp"
#include "data/sources/table_file.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::data;

namespace {

row_template with(const std::string& schema, const std::string& more = "") {
    return parse_template(R"({"schema": )" + schema + more + "}", "t.json");
}
std::string refused(const std::string& schema, const std::string& more = "") {
    return refusal([&] { with(schema, more); });
}

const std::string every_type = R"([
    {"column": "sex", "category": ["female", "male", "X\"; y"], "required": true},
    {"column": "age", "integer": [0, 120]},
    {"column": "weight", "number": [2.5, 300], "step": 0.1},
    {"column": "seen", "date": ["2019-01-01", "2019-12-31"], "format": "%d.%m.%Y", "required": true},
    {"column": "icd", "code": "[A-Z][0-9]{2}(\\.[0-9])?", "required": true},
    {"column": "note", "text": 30},
    {"column": "rest"}])";

}  // namespace

TEST_CASE("a schema is read strictly, one line for each fault") {
    CHECK(has(refused("{}"), "t.json: schema: must be a list of columns"));
    CHECK(has(refused("[]"), "must be a list of columns"));
    CHECK(has(refused("[1]"), "t.json: schema[0]: must be an object with \"column\""));
    CHECK(has(refused(R"([{"column": "a"}, {"column": "a"}])"), "schema[1]: column \"a\" is there twice"));
    CHECK(has(refused(R"([{"column": "a", "kind": 1}])"), "schema[0].kind: unknown key"));
    CHECK(has(refused(R"([{"column": "a", "text": 5, "code": "A"}])"), "a column has one type"));
    CHECK(has(refused(R"([{"column": "a", "category": []}])"), "schema[0].category: must be a list of values"));
    CHECK(has(refused(R"([{"column": "a", "category": ["x", "x"]}])"), "has \"x\" twice"));
    CHECK(has(refused(R"([{"column": "a", "category": [1.5]}])"), "strings or whole numbers"));
    CHECK(has(refused(R"([{"column": "a", "category": "codes"}])"), "no code table"));
    CHECK(has(refused(R"([{"column": "a", "integer": [3, 1]}])"), "ends below where it begins"));
    CHECK(has(refused(R"([{"column": "a", "integer": [0, 1.5]}])"), "1.5 has more decimals than the step"));
    CHECK(has(refused(R"([{"column": "a", "integer": [0, 1e18]}])"), "is too large"));
    CHECK(has(refused(R"([{"column": "a", "integer": [0]}])"), "must be [LOWEST, HIGHEST]"));
    CHECK(has(refused(R"([{"column": "a", "number": [0, 1]}])"), "needs \"step\""));
    CHECK(has(refused(R"([{"column": "a", "number": [0, 1], "step": 0}])"), "must be above 0"));
    CHECK(has(refused(R"([{"column": "a", "number": [0, 1], "step": -0.1}])"), "must be above 0"));
    CHECK(has(refused(R"([{"column": "a", "integer": [0, 1], "step": 0.5}])"), "must be a whole number"));
    CHECK(has(refused(R"([{"column": "a", "text": 5, "step": 1}])"), "is of integer and number"));
    CHECK(has(refused(R"([{"column": "a", "date": ["2019-01-01"]}])"), "must be [FIRST, LAST]"));
    CHECK(has(refused(R"([{"column": "a", "date": ["2019-01-01", "2019-02-30"]}])"), "is no date"));
    CHECK(has(refused(R"([{"column": "a", "date": ["2019-02-01", "2019-01-01"]}])"), "ends before it begins"));
    CHECK(has(refused(R"([{"column": "a", "date": ["0001-01-01", "9999-01-01"]}])"), "spans more than"));
    CHECK(has(refused(R"([{"column": "a", "date": ["2019-01-01", "2019-01-02"], "format": "%H"}])"),
              "schema[0].format: knows"));
    CHECK(has(refused(R"([{"column": "a", "code": "A*"}])"), "schema[0].code: has *"));
    CHECK(has(refused(R"([{"column": "a", "text": 0}])"), "must be the most characters"));
    CHECK(has(refused(R"([{"column": "a", "required": 1}])"), "must be true or false"));
    CHECK(has(refused(R"([{"column": ""}])"), "a string with something in it"));
    CHECK(has(refused(R"([{"column": "a"}])", R"(, "person": "a")"), "is an identifier or left out"));
    CHECK(has(refused(R"([{"column": "a"}])", R"(, "columns": {"b": {}})"), "\"b\" has a rule and is not in it"));
    CHECK(has(refused(R"([{"column": "a"}])", R"(, "only_named": true)"), "no effect"));
}

TEST_CASE("cells are of their types, or are not") {
    const auto how = with(every_type);
    const auto fits = [&](std::size_t column, const std::string& cell) {
        return conforms(cell, (*how.schema)[column].type);
    };
    CHECK(fits(0, "male"));
    CHECK_FALSE(fits(0, "Male"));
    CHECK(fits(1, "120"));
    CHECK_FALSE(fits(1, "121"));
    CHECK_FALSE(fits(1, "1.0"));
    CHECK(fits(2, "2.5"));
    CHECK(fits(2, "300"));
    CHECK_FALSE(fits(2, "2.45"));
    CHECK(fits(3, "31.12.2019"));
    CHECK_FALSE(fits(3, "2019-12-31"));
    CHECK(fits(4, "A12.3"));
    CHECK_FALSE(fits(4, "A12."));
    CHECK(fits(5, "dreißig Zeichen: äöü…"));
    CHECK_FALSE(fits(5, std::string(31, 'a')));
}

TEST_CASE("a row is told in the schema's order, and nothing that is not in it") {
    const auto how = with(R"([{"column": "b"}, {"column": "a"}])", R"(, "clause": "{label}: {value}.")");
    const auto rows = parse_csv("a,secret,b\n1,2,3\n", "t.csv");
    CHECK(row_renderer(how, rows, nullptr)(0) == "b: 3. a: 1.");
    CHECK_FALSE(how.tells("secret"));
    const auto short_rows = parse_csv("a\n1\n", "t.csv");
    CHECK(has(refusal([&] { row_renderer(how, short_rows, nullptr); }), "column \"b\" is missing"));
}

TEST_CASE("a published template tells the same rows without the code book") {
    const std::string text = R"({"unknown": "not known", "missing": ["", "NULL"],
        "schema": [{"column": "kind", "category": "codes"}, {"column": "n"}],
        "columns": {"kind": {"codes": "kinds", "values": {"Urgent": "pressing"}}}})";
    const code_book book{{"kinds", {{"1", "Calm"}, {"2", "Urgent"}, {"3", "NULL"}, {"4", "Calm"}}}};
    const auto own = parse_template(text, "t.json");
    const auto published = parse_template(publish_template(text, "t.json", &book), "p.json");
    const auto rows = parse_csv("kind,n\n1,a\n2,b\n3,c\n,d\n4,e\n", "t.csv");
    const row_renderer before(own, rows, &book), after(published, rows, nullptr);
    for (std::size_t row = 0; row < rows.rows(); ++row) CHECK(before(row) == after(row));
    // Of values that are told alike one is made; an unknown one is a missing value.
    CHECK(std::get<category_type>(published.schema->front().type).values == std::vector<std::string>{"1", "2"});
    const code_book other{{"others", {}}};
    CHECK(has(refusal([&] { publish_template(text, "t.json", &other); }), "no table \"kinds\""));
}

TEST_CASE("a published template names no column that is not told, and no code that is not declared") {
    const std::string text = R"({"record": "visit", "person": "who", "leave_out": ["mail"],
        "schema": [{"column": "kind", "category": ["1", "2"]}],
        "columns": {"kind": {"codes": "kinds"}}})";
    const code_book book{{"kinds", {{"1", "Calm"}, {"2", "Urgent"}, {"3", "Secret"}}}};
    const auto published = publish_template(text, "t.json", &book);
    for (const auto* absent : {"visit", "who", "mail", "Secret", "codes"}) CHECK_FALSE(has(published, absent));
    CHECK(has(published, "Urgent"));
}

TEST_CASE("a published template can be read, and what can't be declared is not") {
    code_book book;
    const auto publish = [&](const std::string& type, const code_book* codes) {
        const auto text = R"({"schema": [{"column": "kind")" + type + R"(}], "columns": {"kind": {"codes": "kinds"}}})";
        return parse_template(publish_template(text, "t.json", codes), "p.json");
    };
    const auto is_text = [](const row_template& how) {
        return std::holds_alternative<text_type>(how.schema->front().type) && how.columns.at("kind").values.empty();
    };
    CHECK(is_text(publish(R"(, "category": "codes")", nullptr)));
    book["kinds"] = {{"1", "NULL"}, {"2", "?"}};  // all unknown
    CHECK(is_text(publish(R"(, "category": "codes")", &book)));
    for (int i = 0; i < 10'001; ++i) book["kinds"][std::to_string(i)] = "meaning " + std::to_string(i);
    CHECK(is_text(publish(R"(, "category": "codes")", &book)));
    CHECK(is_text(publish("", &book)));
    CHECK(is_text(publish(R"(, "code": "[0-9]{2}")", &book)));
    CHECK(publish(R"(, "integer": [1, 3])", &book).columns.at("kind").values.size() == 3);
}

TEST_CASE("what a report asks is read strictly, and never published") {
    CHECK(has(refusal([] { parse_template(R"({"target": "a"})", "t.json"); }), "t.json: target: needs a \"schema\""));
    const auto asked = [](const std::string& more) { return refused(every_type, ", " + more); };
    CHECK(has(asked(R"("target": "b")"), "t.json: target: \"b\" is no column of the schema"));
    CHECK(has(asked(R"("sensitive": ["note"])"), "column \"note\" is free text"));
    CHECK(has(asked(R"("sensitive": "icd")"), "must be a list of strings"));
    CHECK(has(asked(R"("rules": {})"), "t.json: rules: must be a list of rules"));
    CHECK(has(asked(R"("rules": ["age > weight"])"), "t.json: rules[0]: is neither"));
    CHECK(has(asked(R"("rules": ["age <= height"])"), "\"height\" is no column"));
    CHECK(has(asked(R"("rules": ["age <= seen"])"), "not both numbers, or both dates"));
    CHECK(has(asked(R"("rules": [{"if": {"sex": "male"}}])"), "t.json: rules[0]: must be"));
    CHECK(has(asked(R"("rules": [{"if": {}, "then": {"age": 3}}])"), "\"if\" must be {COLUMN: VALUE}"));
    CHECK(has(asked(R"("rules": [{"if": {"sex": "man"}, "then": {"age": 3}}])"), "\"sex\" can't be \"man\""));
    CHECK(has(asked(R"("rules": [{"if": {"sex": null}, "then": {"age": 3}}])"), "required, so it is never null"));
    CHECK(has(asked(R"("rules": [{"if": {"sex": "male"}, "then": {"note": "x"}}])"), "is free text"));
    CHECK(has(asked(R"("rules": [{"if": {"sex": []}, "then": {"age": 3}}])"), "has an empty list"));
    const auto published = publish_template(
        R"({"schema": )" + every_type + R"(, "sensitive": ["icd"], "target": "sex", "rules": ["age <= weight"]})",
        "t.json", nullptr);
    for (const auto* absent : {"sensitive", "target", "rules"}) CHECK_FALSE(has(published, absent));
}

TEST_CASE("a rule holds, or does not, or says nothing of a row") {
    const auto how =
        with(every_type, R"(, "columns": {"weight": {"decimal": ","}}, "rules": ["age <= weight", "age < weight",
        {"if": {"sex": ["male", "female"], "age": 3}, "then": {"weight": [null, 7]}}])");
    std::map<std::string, cell_reader, std::less<>> readers;
    const std::vector<std::string> columns{"sex", "age", "weight"};
    for (const auto& column : *how.schema) readers.emplace(column.name, cell_reader(how, column, nullptr));
    const auto look = [&](std::size_t rule, const std::vector<std::string>& cells) {
        return rule_check(how.rules[rule], columns, readers)([&](std::size_t c) { return std::string_view(cells[c]); });
    };
    CHECK(look(0, {"male", "3", "3,0"}) == kept::yes);
    CHECK(look(1, {"male", "3", "3,0"}) == kept::no);
    CHECK(look(0, {"male", "12", "7,5"}) == kept::no);
    CHECK(look(0, {"male", "?", "7,5"}) == kept::not_asked);
    CHECK(look(2, {"male", "3", "7,0"}) == kept::yes);
    CHECK(look(2, {"female", "03", ""}) == kept::yes);
    CHECK(look(2, {"male", "3", "8"}) == kept::no);
    CHECK(look(2, {"male", "4", "8"}) == kept::not_asked);
    // Cells that are told alike say the same.
    const code_book book{{"kinds", {{"1", "Calm"}, {"2", "Calm"}, {"3", "NULL"}}}};
    const auto coded = parse_template(R"({"schema": [{"column": "kind", "category": "codes"}, {"column": "seen",
        "date": ["2019-01-01", "2019-12-31"]}], "columns": {"kind": {"codes": "kinds"}}})",
                                      "t.json");
    const cell_reader kind(coded, coded.schema->front(), &book), seen(coded, coded.schema->back(), &book);
    CHECK(kind.word("1") == kind.word("2"));
    CHECK(kind.word("1") == "Calm");
    CHECK_FALSE(kind.word("3"));
    CHECK(*seen.number("2019-02-01") - *seen.number("2019-01-01") == 31);
    CHECK_FALSE(seen.number("2020-01-01"));
}

TEST_CASE("numbers in JSON lines are those of the cells") {
    const scratch_directory scratch;
    const auto how = with(R"([{"column": "a", "number": [0, 9], "step": 0.001},
                              {"column": "b", "number": [0, 9], "step": 0.001}])",
                          R"(, "columns": {"b": {"decimal": ","}})");
    write_table(scratch / "t.jsonl", how, [](const auto& use) { use({"1.234", "1,234"}); });
    CHECK(rldp::read_file(scratch / "t.jsonl") == "{\"a\": 1.234, \"b\": 1.234}\n");
}

TEST_CASE("made-up rows conform, and every value comes") {
    const auto how = with(every_type, R"(, "record": "id", "leave_out": ["mail"])");
    made_up_stream rows(how, nullptr, 3000, 1);
    std::size_t seen = 0, missing = 0;
    std::set<std::string> sexes;
    std::string first;
    while (const auto some = rows.next(1000)) {
        const row_renderer narrate(how, *some, nullptr);
        if (first.empty()) first = narrate(0);
        for (std::size_t row = 0; row < some->rows(); ++row, ++seen) {
            narrate(row);
            for (std::size_t c = 0; c < how.schema->size(); ++c) {
                const auto& column = (*how.schema)[c];
                const std::string cell(some->cell(row, *some->find(column.name)));
                if (how.missing.contains(cell)) {
                    REQUIRE_FALSE(column.required);
                    ++missing;
                } else {
                    REQUIRE(conforms(cell, column.type));
                }
                if (c == 0) sexes.insert(cell);
            }
        }
    }
    CHECK(seen == 3000);
    CHECK(sexes.size() == 3);
    CHECK(missing > 0);
    rows.rewind();
    const auto again = rows.next(1);
    CHECK(row_renderer(how, *again, nullptr)(0) == first);
    made_up_stream other(how, nullptr, 1, 2);
    const auto others = other.next(1);
    CHECK(row_renderer(how, *others, nullptr)(0) != first);
}

TEST_CASE("made-up rows have the codes of the table that they are beside") {
    const scratch_directory scratch;
    const auto how = scratch.write("t.json", R"({"clause": "{value}.",
        "schema": [{"column": "c", "category": ["1"], "required": true}], "columns": {"c": {"codes": "admission_type_id"}}})");
    const auto told = [&](const std::string& table) {
        const auto rows =
            open_records({.path = "template:1", .ids_mapping = {}, .narrative = how, .group = {}, .table = table});
        return rows->next()->at(0).text;
    };
    CHECK(told((scratch / "own.csv").string()) == "1.");  // it has no code book
    CHECK(told("synthetic:5") == "Emergency.");
    scratch.write("IDs_mapping.csv", "admission_type_id,description\n1,By day\n");
    CHECK(told((scratch / "own.csv").string()) == "By day.");
}

TEST_CASE("template:N is a source of public records") {
    const scratch_directory scratch;
    const auto path = scratch.write("t.json", R"({"schema": [{"column": "a", "category": ["x"], "required": true}]})");
    const auto rows = open_records({.path = "template:3", .ids_mapping = {}, .narrative = path, .group = {}});
    const auto block = rows->next();
    REQUIRE(block->size() == 3);
    CHECK(block->at(2).text == "a is x.");
    const auto open = [](const std::string& what, const std::string& how) {
        return refusal([&] { open_records({.path = what, .ids_mapping = {}, .narrative = how, .group = {}}); });
    };
    CHECK(has(open("template:0", path), "must be an integer from 1 to"));
    CHECK(has(open("template:x", path), "must be an integer from 1 to"));
    CHECK(has(open("template:3", scratch.write("plain.json", "{}")), "declares no schema"));
}

TEST_CASE("a written table is read as it was given") {
    const scratch_directory scratch;
    const auto how = with(every_type);
    const std::vector<std::vector<std::string>> given = {
        {"X\"; y", "7", "2.5", "01.01.2019", "A12", "a, \"b\"; c", "d"},
        {"male", "", "", "02.01.2019", "B00.1", "é", ""}};
    const auto source = [&](const auto& use) {
        for (const auto& row : given) use(row);
    };
    for (const auto* name : {"t.csv", "t.tsv", "t.csv.gz", "t.csv.zst"}) {
        CAPTURE(name);
        write_table(scratch / name, how, source);
        const auto read = std::move(*csv_stream(scratch / name).next());
        REQUIRE(read.rows() == 2);
        for (std::size_t row = 0; row < 2; ++row)
            for (std::size_t c = 0; c < 7; ++c) CHECK(read.cell(row, c) == given[row][c]);
    }
    write_table(scratch / "t.jsonl", how, source);
    CHECK(rldp::read_file(scratch / "t.jsonl") ==
          "{\"sex\": \"X\\\"; y\", \"age\": 7, \"weight\": 2.5, \"seen\": \"01.01.2019\", \"icd\": \"A12\", "
          "\"note\": \"a, \\\"b\\\"; c\", \"rest\": \"d\"}\n"
          "{\"sex\": \"male\", \"age\": null, \"weight\": null, \"seen\": \"02.01.2019\", \"icd\": \"B00.1\", "
          "\"note\": \"é\", \"rest\": null}\n");
    json_table_stream lines(scratch / "t.jsonl");
    CHECK(lines.next()->rows() == 2);
    CHECK(has(refusal([&] { write_table(scratch / "t.xlsx", how, source); }), "name it .csv"));
    // Whole or not at all.
    CHECK_THROWS(write_table(scratch / "half.csv", how, [&](const auto& use) {
        use(given[0]);
        rldp::refuse("stopped");
    }));
    CHECK_FALSE(std::filesystem::exists(scratch / "half.csv"));
}

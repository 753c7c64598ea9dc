#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "models/research/pretrain.hpp"

//
#include "tests/catch.hpp"

using rldp::models::make_synthetic_text;

TEST_CASE("prose is a function of its seed") {
    CHECK(make_synthetic_text(50, 1) == make_synthetic_text(50, 1));
    CHECK(make_synthetic_text(50, 1) != make_synthetic_text(50, 2));
    CHECK_THROWS_AS(make_synthetic_text(-1, 1), rldp::error);
}

TEST_CASE("prose is rich and well formed") {
    std::set<std::string> words, passages;
    for (const auto& text : make_synthetic_text(3000, 3)) {
        REQUIRE(text.find_first_of("{}|~;=\n") == text.find_first_of("="));
        REQUIRE(text.size() > 20);
        passages.insert(text);
        std::istringstream in(text);
        for (std::string word; in >> word;)
            if (std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isalpha(c) != 0; }))
                words.insert(word);
    }
    CHECK(passages.size() > 2990);
    CHECK(words.size() > 1000);
}

TEST_CASE("prose never contains the clauses of the narratives' template") {
    const std::vector<std::string> clauses = {"has the following profile",
                                              "race is",
                                              "gender is",
                                              "patient ages",
                                              "years old. weight",
                                              "weight is",
                                              "admission type",
                                              "discharge disposition",
                                              "admission source",
                                              "stayed in the hospital",
                                              "payer code",
                                              "medical specialty",
                                              "lab procedures",
                                              "num procedures",
                                              "num medications",
                                              "outpatient visit",
                                              "emergency visit",
                                              "inpatient visit",
                                              "preceding the encounter",
                                              "diagnosis code",
                                              "icd9",
                                              "number diagnoses",
                                              "glu serum",
                                              "a1cresult",
                                              "is not prescribed",
                                              "is prescribed",
                                              "metformin",
                                              "insulin",
                                              "glipizide",
                                              "diabetic",
                                              "was readmitted",
                                              "was not readmitted",
                                              "readmitted",
                                              "secret_id",
                                              "is unchanged",
                                              "is increased",
                                              "is decreased",
                                              "is unknown"};
    for (auto text : make_synthetic_text(4000, 1)) {
        std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
        for (const auto& clause : clauses)
            if (text.find(clause) != std::string::npos) FAIL(clause << " in: " << text);
    }
}

#include "base/text.hpp"

#include <cstdlib>

#include "base/data_names.hpp"
#include "base/system.hpp"
#include "tests/catch.hpp"

using namespace rldp;

TEST_CASE("UTF-8 is what Unicode says it is") {
    for (const char* good : {"", "a", "é", "€", "𝄞", "\xEF\xBF\xBF", "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF"})
        CHECK(is_utf8(good));
    for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE2\x82", "\xED\xA0\x80",
                            "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "a\xE2\x28\xA1"})
        CHECK_FALSE(is_utf8(bad));
}

TEST_CASE("bytes that are no text are shown, and text as it is") {
    CHECK(shown_text("Müller/€.csv") == "Müller/€.csv");
    CHECK(shown_text("M\xFCller.csv") == "M\\xfcller.csv");
    CHECK(shown_text("a\nb\x1b[31m\x7f") == "a\\x0ab\\x1b[31m\\x7f");
    CHECK(shown_path("/data/\xE2\x82") == "/data/\\xe2\\x82");
    CHECK(is_utf8(shown_text("\xFF\xFE\x80")));
}

TEST_CASE("a model in the Hub's cache is called as the Hub calls it") {
    CHECK(model_name("/c/hub/models--HuggingFaceTB--SmolLM2-135M/snapshots/93efa2f0") == "HuggingFaceTB/SmolLM2-135M");
    CHECK(model_name("/c/hub/models--gpt2/snapshots/607a30d7") == "gpt2");
    CHECK(model_name("/c/hub/models--a--b--c/snapshots/1") == "a/b--c");
    CHECK(model_name("/models/SmolLM2-135M") == "SmolLM2-135M");
    CHECK(model_name("/snapshots/x") == "x");
}

TEST_CASE("~ is the owner's home where it begins a path") {
    const std::string home = std::getenv("HOME");
    CHECK(with_home("~/records.csv") == home + "/records.csv");
    CHECK(with_home("~") == home);
    for (const char* other : {"~user/x", "a/~/b", "", "/x~"}) CHECK(with_home(other) == other);
}

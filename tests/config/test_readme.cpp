// The README's configuration reference is the schema's.
#include "config/base/files.hpp"
#include "config/config.hpp"
#include "tests/catch.hpp"

TEST_CASE("the README ends with the reference of every key, as `rldp reference` prints it") {
    const auto readme = rldp::read_file("README.md");
    const auto reference = rldp::config::reference_markdown();
    const auto at = readme.find(reference);
    REQUIRE(at != std::string::npos);
    CHECK(at + reference.size() == readme.size());
}

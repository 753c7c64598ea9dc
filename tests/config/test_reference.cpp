// The reference in docs/ is the schema's.
#include "config/base/files.hpp"
#include "config/config.hpp"
#include "tests/catch.hpp"

TEST_CASE("docs/configuration.md ends with the reference of every key, as `rldp reference` prints it") {
    const auto document = rldp::read_file("docs/configuration.md");
    const auto reference = rldp::config::reference_markdown();
    const auto at = document.find(reference);
    REQUIRE(at != std::string::npos);
    CHECK(at + reference.size() == document.size());
}

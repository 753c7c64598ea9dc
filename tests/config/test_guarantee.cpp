#include "base/guarantee.hpp"

#include <cmath>

#include "config/config.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp;

TEST_CASE("a guarantee holds only where nothing voids it") {
    CHECK(guarantee{semantics::sound, false, 2}.holds());
    const guarantee voided[] = {{semantics::as_published, false, 2},
                                {semantics::sound, true, 2},
                                {semantics::sound, false, HUGE_VAL},
                                {semantics::sound, false, std::nan("")}};
    for (const auto& one : voided) {
        CHECK_FALSE(one.holds());
        CHECK(one.voids().size() == 1);
    }
    CHECK(guarantee{semantics::as_published, true, HUGE_VAL}.voids().size() == 3);
    for (const auto how : {semantics::sound, semantics::as_published})
        CHECK(parse_named<semantics>(name_of(how)) == how);
    CHECK(refusal([] { parse_named<semantics>("Sound"); }).find("sound and as_published") != std::string::npos);
}

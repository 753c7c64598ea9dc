#pragma once
// The one place that knows which Catch2 the distribution ships. Include it last: torch's glog defines a CHECK of its
// own that would silently replace Catch2's.
#ifdef CHECK
#undef CHECK
#endif
#ifdef CHECK_NOTHROW
#undef CHECK_NOTHROW
#endif
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

#ifdef CATCH_CONFIG_RUNNER  // what tests/main.cpp needs
#if __has_include(<catch2/catch_all.hpp>)
using catch_listener = Catch::EventListenerBase;
using catch_assertion_result = void;
inline const Catch::TestCaseInfo& find_info(const Catch::TestCaseStats& stats) {
    return *stats.testInfo;
}
inline const Catch::TestCaseInfo& find_info(const Catch::TestCaseInfo* info) {
    return *info;
}
inline const auto& all_cases() {
    return Catch::getRegistryHub().getTestCaseRegistry().getAllInfos();
}
#else
using catch_listener = Catch::TestEventListenerBase;
using catch_assertion_result = bool;
inline const Catch::TestCaseInfo& find_info(const Catch::TestCaseStats& stats) {
    return stats.testInfo;
}
inline const Catch::TestCaseInfo& find_info(const Catch::TestCase& one) {
    return one;
}
inline const auto& all_cases() {
    return Catch::getRegistryHub().getTestCaseRegistry().getAllTests();
}
#endif
#endif

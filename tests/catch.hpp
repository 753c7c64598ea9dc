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

#pragma once
// Lets clang read LibTorch 1.13 under C++20 (included by the compiler's command line). Clang instantiates constexpr
// functions where they are named, and libstdc++ 12's std::vector is constexpr: LibTorch names the members of
// std::vector<c10::IValue> where IValue has only been declared. So: containers as C++17 has them.
#define _GLIBCXX20_CONSTEXPR
#include <type_traits>
#pragma push_macro("__cpp_lib_is_constant_evaluated")
#undef __cpp_lib_is_constant_evaluated
#include <string>
#pragma pop_macro("__cpp_lib_is_constant_evaluated")
// fmt takes the standard library's constexpr for granted.
#include <fmt/core.h>
#undef FMT_CONSTEXPR20
#define FMT_CONSTEXPR20
#include <fmt/format.h>

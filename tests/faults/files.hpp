#pragma once
// Small helpers over files. The program's own are what is on trial, so none of them is used here.
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace rldp::testing {

using path = std::filesystem::path;
using generator = std::mt19937_64;

/// A number in [0, bound).
inline std::uint64_t below(generator& random, std::uint64_t bound) {
    return random() % bound;
}
template <class T>
const T& one_of(const std::vector<T>& of, generator& random) {
    return of[below(random, of.size())];
}

/// The whole file; empty where there is none.
std::string read_content(const path& file);
void put_content(const path& file, const std::string& bytes);

/// Whole lines, without their ends; what follows the last end is no line.
std::vector<std::string> split_lines(const std::string& text);

/// Relative paths of every regular file below, sorted.
std::vector<std::string> files_in(const path& directory);

void copy_tree(const path& from, const path& to);

}  // namespace rldp::testing

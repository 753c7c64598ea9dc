#include "tests/faults/files.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace rldp::testing {

namespace fs = std::filesystem;

std::string read_content(const path& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream out;
    if (in && in.peek() != std::ifstream::traits_type::eof()) out << in.rdbuf();
    return std::move(out).str();
}

void put_content(const path& file, const std::string& bytes) {
    fs::create_directories(file.parent_path());
    std::ofstream out(file, std::ios::binary);
    if (!(out << bytes << std::flush)) throw std::runtime_error(file.string() + ": the harness can't write it");
}

std::vector<std::string> split_lines(const std::string& text) {
    std::vector<std::string> out;
    std::size_t begin = 0;
    for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
        out.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return out;
}

std::vector<std::string> files_in(const path& directory) {
    std::vector<std::string> out;
    if (!fs::exists(directory)) return out;
    for (const auto& entry : fs::recursive_directory_iterator(directory))
        if (entry.is_regular_file()) out.push_back(fs::relative(entry.path(), directory).string());
    std::sort(out.begin(), out.end());
    return out;
}

void copy_tree(const path& from, const path& to) {
    fs::copy(from, to, fs::copy_options::recursive);
}

}  // namespace rldp::testing

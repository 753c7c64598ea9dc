#pragma once
// What data and models are called, where their directories are the owner's business.
#include <filesystem>
#include <string>

#include "config/base/made_up.hpp"

namespace rldp {

/// "/secret/place/notes.csv.gz" is notes.csv.gz; made-up data are called as they are asked for.
inline std::string without_directory(const std::string& path) {
    return is_made_up(path) ? path : std::filesystem::path(path).filename().string();
}

/// The same without what says its kind and how it is packed: notes.
inline std::string bare_name(const std::filesystem::path& path) {
    const auto name = path.filename();
    const auto last = name.extension();
    return (last == ".gz" || last == ".zst" ? name.stem() : name).stem().string();
}

}  // namespace rldp

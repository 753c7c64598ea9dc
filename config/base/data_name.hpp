#pragma once
// What data and models are called, where their directories are the owner's business.
#include <filesystem>
#include <string>
#include <string_view>

#include "config/base/made_up.hpp"

namespace rldp {

/// "/secret/place/notes.csv.gz" is notes.csv.gz; made-up data are called as they are asked for.
inline std::string without_directory(const std::string& path) {
    return is_synthetic(path) ? path : std::filesystem::path(path).filename().string();
}

/// What the model in `directory` is called: on the Hugging Face Hub ("org/name") where that is its cache, which keeps a
/// model in models--org--name/snapshots/REVISION; else as its directory.
inline std::string model_name(const std::filesystem::path& directory) {
    constexpr std::string_view mark = "models--", slash = "--";
    auto name = directory.parent_path().parent_path().filename().string();
    if (directory.parent_path().filename() != "snapshots" || !name.starts_with(mark))
        return directory.filename().string();
    name.erase(0, mark.size());
    if (const auto at = name.find(slash); at != std::string::npos) name.replace(at, slash.size(), "/");
    return name;
}

/// A file's name without what says its kind and how it is packed: notes.
inline std::string bare_name(const std::filesystem::path& path) {
    const auto name = path.filename();
    const auto last = name.extension();
    return (last == ".gz" || last == ".zst" ? name.stem() : name).stem().string();
}

}  // namespace rldp

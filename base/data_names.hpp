#pragma once
// What data, models and budget books are called.
#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

namespace rldp {

// Made-up data. "synthetic:N" or "synthetic:N@WORLD" in place of a path asks for N made-up records, which are nobody's.

inline constexpr std::string_view synthetic_prefix = "synthetic:";

/// Whether `path` asks for made-up records; how many is checked where they are made.
inline bool is_synthetic(const std::string& path) {
    return path.starts_with(synthetic_prefix);
}

/// "template:N" in place of a path of public records: N made-up rows of the run's own template.
inline constexpr std::string_view template_prefix = "template:";

inline bool is_of_template(const std::string& path) {
    return path.starts_with(template_prefix);
}

/// In place of a path: rows from standard input, framed (docs/data.md).
inline constexpr std::string_view piped = "-";

inline bool is_piped(const std::string& path) {
    return path == piped;
}

/// What stands in the place of the path of a file, of records that somebody may have to protect.
inline bool names_no_file(const std::string& path) {
    return is_synthetic(path) || is_piped(path);
}

/// What stands in a path's place and names nobody's records.
inline bool is_made_up(const std::string& path) {
    return is_synthetic(path) || is_of_template(path);
}

// Data and models. What they are called, where their directories are the owner's business.

/// "/secret/place/notes.csv.gz" is notes.csv.gz; made-up data are called as they are asked for.
inline std::string without_directory(const std::string& path) {
    return is_made_up(path) ? path : std::filesystem::path(path).filename().string();
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

// Budget books. What one may be called (privacy.book): a name among the books of its owner's home, or a directory's
// path.

inline constexpr std::string_view no_book = "none";
inline constexpr std::string_view found_book = "found";  ///< by how alike its units are

/// A path has a '/', a name has none.
inline bool is_book_path(std::string_view text) {
    return text.find('/') != std::string_view::npos;
}

inline bool is_alphanumeric(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

inline bool is_book_name(std::string_view text) {
    return !text.empty() && text.size() <= 100 && is_alphanumeric(text.front()) &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

/// A file's bare name as that of a book: "our patients (new)" is our-patients-new.
inline std::string make_book_name(std::string_view bare) {
    std::string out;
    for (const char c : bare.substr(0, 60)) {
        const bool kept = is_alphanumeric(c) || c == '.' || c == '_';
        if (kept)
            out += c;
        else if (!out.empty() && out.back() != '-')
            out += '-';
    }
    while (!out.empty() && out.back() == '-') out.pop_back();
    while (!out.empty() && !is_alphanumeric(out.front())) out.erase(0, 1);
    return out.empty() || out == no_book || out == found_book ? "data" + (out.empty() ? out : "-" + out) : out;
}

}  // namespace rldp

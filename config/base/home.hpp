#pragma once
// "~/" before a path, which a shell leaves as it is where it does not begin a word (--out=~/runs), and no shell ever
// sees in a file.
#include <cstdlib>
#include <string>

namespace rldp {

/// "~/records" in the owner's home. Where HOME says nothing, as it is.
inline std::string with_home(std::string path) {
    const char* home = std::getenv("HOME");
    if (home != nullptr && *home != '\0' && (path == "~" || path.starts_with("~/"))) path.replace(0, 1, home);
    return path;
}

}  // namespace rldp

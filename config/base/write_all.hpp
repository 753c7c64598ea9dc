#pragma once
// write(2) to the end. Internal to the writers of files.
#include <string_view>

namespace rldp {

/// Whether all of `bytes` went out; else errno says why not.
bool write_all(int descriptor, std::string_view bytes);

}  // namespace rldp

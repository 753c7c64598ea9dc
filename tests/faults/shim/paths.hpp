#pragma once
// Which file a call is about.
#include <string>

namespace rldp::testing::shim {

/// Of an open file, under the name that it has by now; no path for pipes and sockets.
std::string find_path(int descriptor);
/// Of a name as the …at calls take it.
std::string absolute(int directory, const char* path);
bool exists(const std::string& path);

}  // namespace rldp::testing::shim
